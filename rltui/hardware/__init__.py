"""GPU (NVML) and host (psutil, cgroup) samples. A recorded sample is as good as a live one. Knows nothing of runs."""
