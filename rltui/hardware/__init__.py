"""GPU (NVML) and host (psutil, cgroup) samples. A recorded sample looks like a live one. Knows nothing about runs."""
