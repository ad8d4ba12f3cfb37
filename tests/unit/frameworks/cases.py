"""One small run of each framework: built to the format strings of its source, or what its own writer wrote
(`tests/fixtures/writers`), with what has to be read from it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from tests.conftest import REPO

WRITERS = REPO / "tests" / "fixtures" / "writers"


_FIXTURE = re.compile(r"=([a-z][\w.\-/]+)\Z")


@dataclass(frozen=True)
class Case:
    """`files`: path -> text; the name of a writer's fixture with "=" before it may end it. `last`: canonical metric ->
    value at the last step. `samples` and `checkpoints`: paths that a run of this framework has."""

    dialect: str
    files: dict[str, str]
    steps: tuple[int, int]
    last: dict[str, float]
    algorithm: str | None = None
    config: dict[str, object] = field(default_factory=dict)
    phases: tuple[str, ...] = ()
    planned: int | None = None
    state: str = ""
    samples: tuple[str, ...] = ()
    checkpoints: dict[str, int] = field(default_factory=dict)
    restarts: tuple[int, ...] = ()

    def text(self, path: str) -> str:
        """The text of a file, what a writer wrote in the place of its name."""
        found = _FIXTURE.search(self.files[path])
        if found is None:
            return self.files[path]
        return self.files[path][: found.start()] + (WRITERS / found[1]).read_text(encoding="utf-8")


def _lines(*lines: str) -> str:
    return "\n".join(lines) + "\n"


_SLIME = "(MegatronTrainRayActor pid=7) [2026-01-02 03:04:05] model.py:918 - "
_MANAGER = "(RolloutManager pid=8) [2026-01-02 03:04:05] rollout_metrics.py:268 - "
_PRIME = "\x1b[32m03:04:05\x1b[0m \x1b[1m SUCCESS\x1b[0m "


def _nemo(step: int) -> str:
    return _lines(
        f"{'=' * 25} Step {step}/3 {'=' * 25}",
        "▶ Preparing batch...",
        "▶ Computing advantages...",
        "",
        "📊 Training Results:",
        "  • Loss: 0.0123",
        "  • Generation KL Error: 0.0004",
        f"  • Avg Reward: {step / 8:.4f}",
        "  • Mean Generation Length: 512.2500",
        "  • Avg Trajectory Age: 0.50 steps",
        "",
        "⏱️  Timing:",
        "  • Total step time: 63.21s",
        "  • generation: 40.10s (63.4%)",
        "  • policy_training: 10.00s (15.8%)",
    )


def _slime(rollout: int) -> str:
    rows = [
        _MANAGER + f"perf {rollout}: {{'rollout/response_len/mean': 201.25, 'perf/rollout_time': 12.5}}",
        _SLIME + f"rollout {rollout}: {{'rollout/rewards': 0.5, 'rollout/raw_reward': {rollout / 8}}}",
        *(
            _SLIME + f"step {2 * rollout + i}: {{'train/loss': 0.1, 'train/kl_loss': {0.01 * (i + 1)},"
            f" 'train/entropy_loss': 0.4, 'train/grad_norm': 0.5, 'train/step': {2 * rollout + i}}}"
            for i in range(2)
        ),
        _SLIME
        + f"perf {rollout}: {{'perf/train_wait_time': 15.0, 'perf/actor_train_time': 4.0, 'perf/step_time': 20.0}}",
    ]
    return _lines(*rows)


def _prime(step: int) -> str:
    return (
        f"{_PRIME}Step {step} |  1m 42s | Loss 0.0012 | Entropy 0.4312 | Mismatch KL 0.0008 | Grad. Norm 0.1234"
        " | LR 1.00e-06 | Throughput 12345 tokens/s | MFU 31.2% | Peak Mem. 61.0 GiB"
    )


def _orchestrator(step: int) -> str:
    return (
        f"{_PRIME}Step {step} |   40.0s | Reward {step / 8:.4f} | Trainable 120/128 (93.8%) | Turns 1.0 | Branches 1.0"
        " | Max Off-Policy 2 | Error 0.0% | Cancelled 0.0% | Truncation 3.1%"
    )


def _panel(step: int) -> str:
    return _lines(
        "╭──────────────────────────── Metrics ─────────────────────────────╮",
        "│  debug      vllm_vs_local_logprob_diff_mean: 0.01                │",
        "│  loss       policy_avg: 0.12 | kl_avg: 0.00                      │",
        "│  objective  kl2_avg: 0.25 | verifiable_reward: 5.00 |            │",
        "│             verifiable_correct_rate: 0.50                        │",
        f"│  other      episode: {64 * step} | training_step: {step} | scores: {step / 8} | lr: 1e-06 |  │",
        "│             epoch: 0.01                                          │",
        "│  time       total: 20.50 | training: 4.00                        │",
        "│  val        sequence_lengths: 201.25 | stop_rate: 0.75           │",
        "╰──────────────────────────────────────────────────────────────────╯",
    )


def _roll(step: int) -> str:
    metrics = {
        "critic/score/mean": step / 8,
        "actor/pg_loss": 0.1,
        "actor/approxkl": 0.002,
        "actor/lr": 1e-06,
        "actor_train/grad_norm": 0.25,
        "tokens/response_length/mean": 201.25,
        "time/step_total": 20.0,
        "time/step_generate": 12.0,
        "time/step_train": 5.0,
    }
    text = json.dumps({"step": step, "metrics": metrics})
    return f"[2026-01-02 03:04:05] [tracking.py (161)] [INFO] [rlvr]metrics_tag: {text}"


def _llama(step: int) -> str:
    row = {"current_steps": step, "total_steps": 3, "loss": 0.5, "lr": 1e-06, "reward": step / 8, "epoch": 0.1}
    return json.dumps(row | {"percentage": 1.0, "elapsed_time": "0:00:10", "remaining_time": "0:00:20"})


def _deepspeed(step: int) -> str:
    return _lines(
        f"epoch: 0|step: {step}|ppo_ep: 1|act_loss: 0.25|cri_loss: 0.125|unsuper_loss: 0.0",
        f"average reward score: {step / 8}",
        "-" * 90,
        "|E2E latency=7.99s |Gather latency=0.00s (0.00%) |Generate time=5.26s (65.80%) |Training time=2.52s (31.5%)",
    )


def _search_r1(step: int) -> str:
    return (
        f"(main_task pid=9) step:{step} - critic/kl:0.010 - critic/score/mean:{step / 8:.3f} - actor/entropy_loss:0.400"
        " - env/finish_ratio:0.900 - env/number_of_valid_search:1.500 - timing_s/gen:12.000 - timing_s/step:20.000"
    )


def _trainer_state(**cells: float) -> str:
    rows = [{"step": s, "epoch": s / 3} | cells | {"objective/scores": s / 8, "reward": s / 8} for s in (1, 2, 3)]
    return json.dumps({"global_step": 3, "max_steps": 3, "best_metric": None, "log_history": rows}, indent=2)


CASES: tuple[Case, ...] = (
    Case(
        "search_r1",
        {
            "train.log": _lines(
                "(main_task pid=9) {'actor_rollout_ref': {'rollout': {'n_agent': 5},",
                "(main_task pid=9)                        'actor': {'state_masking': True}},",
                "(main_task pid=9)  'max_turns': 2}",
                *map(_search_r1, (1, 2, 3)),
            )
        },
        (1, 3),
        {"score_mean": 0.375, "kl_ref": 0.01, "entropy": 0.4, "finish_ratio": 0.9, "tool_calls_mean": 1.5},
        config={"group_size": 5, "state_masking": True, "max_turns": 2},
        phases=("phase:rollout",),
        checkpoints={"verl_checkpoints/e/actor/global_step_20": 20},
    ),
    Case(
        "trl_ppo",
        {
            "out/checkpoint-3/trainer_state.json": _trainer_state(
                **{"objective/kl": 12.0, "policy/approxkl_avg": 0.01, "loss/value_avg": 0.2, "val/ratio_var": 0.0}
            )
        },
        (1, 3),
        {"score_mean": 0.375, "kl_ref": 12.0, "ppo_kl": 0.01, "vf_loss": 0.2},
        planned=3,
        state="finished",
    ),
    Case(
        "async_grpo",
        {
            "metrics.jsonl": _lines(
                *(
                    json.dumps(
                        {
                            "step": s,
                            "perf/step_s": 20.0,
                            "perf/fwd_bwd_s": 5.0,
                            "reward": s / 8,
                            "sample/staleness_mean": 1.5,
                        }
                    )
                    for s in (1, 2, 3)
                )
            )
        },
        (1, 3),
        {"reward_mean": 0.375, "staleness_mean": 1.5, "time_per_step_s": 20.0},
        phases=("phase:update_actor",),
    ),
    Case(
        "verl",
        {"outputs/train.log": "=verl-0.9.1.log", "outputs/p/e.jsonl": "=verl-0.9.1.jsonl"}
        | {
            "outputs/.hydra/config.yaml": "algorithm: {adv_estimator: grpo}\nlr: 1e-6\nactor_rollout_ref:\n  actor:\n"
            "    kl_loss_coef: 0.001\n    use_kl_loss: false\n    optim: {lr: '${lr}'}\n  rollout: {n: 8}\n",
            "outputs/.hydra/overrides.yaml": "- actor_rollout_ref.rollout.n=16\n",
        },
        (1, 3),
        {"reward_mean": 0.375, "kl_ref": 0.0016172, "response_length_mean": 201.25},
        "GRPO",
        {"lr": 1e-6, "group_size": 16, "kl_coef_loss": 0.001, "adv_estimator": "grpo"},
        ("phase:rollout",),
        samples=("outputs/rollout_data/12.jsonl", "outputs/validation/12.jsonl"),
        checkpoints={"outputs/checkpoints/p/e/global_step_20": 20},
    ),
    Case(
        "openrlhf",
        {
            "train.log": _lines(
                "+ python3 -m openrlhf.cli.train_ppo_ray --actor.eps_clip 0.2 --algo.kl.init_coef 1e-3"
                " --rollout.n_samples_per_prompt 8 --actor.adam.lr 1e-6",
            )
            + "=openrlhf-0.11.2.log"
        },
        (1, 3),
        {"reward_mean": 0.375, "kl_ref": 0.0016, "clip_frac": 0.002, "entropy": 0.4321, "response_clip_ratio": 0.125},
        config={"clip_low": 0.2, "kl_coef_loss": 1e-3, "group_size": 8, "lr": 1e-6},
        phases=("phase:rollout", "phase:update_actor", "phase:weight_sync"),
        checkpoints={"ckpt/_actor/global_step20": 20, "ckpt/global_step40_hf": 40},
    ),
    Case(
        "nemo_rl",
        {
            "run.log": _lines(
                "Final config:",
                "{'grpo': {'num_prompts_per_step': 32, 'num_generations_per_prompt': 16, 'max_num_steps': 3,",
                "          'adv_estimator': {'name': 'grpo'}},",
                " 'loss_fn': {'reference_policy_kl_penalty': 0.01}}",
                *map(_nemo, (1, 2, 3)),
            )
        },
        (1, 3),
        {"reward_mean": 0.375, "rollout_train_kl": 0.0004, "response_length_mean": 512.25, "staleness_mean": 0.5},
        "GRPO",
        {"group_size": 16, "train_batch_prompts": 32, "kl_coef_loss": 0.01},
        ("phase:rollout", "phase:update_actor"),
        planned=3,
        state="finished",
        samples=("logs/exp_001/train_data_step3.jsonl", "logs/exp_001/val_data_step3.jsonl"),
        checkpoints={"results/step_10": 10},
    ),
    Case(
        "slime",
        {
            "train.log": _lines(
                "(MegatronTrainRayActor pid=7) ------------------------ arguments ------------------------",
                "(MegatronTrainRayActor pid=7)   advantage_estimator ............................. grpo",
                "(MegatronTrainRayActor pid=7)   n_samples_per_prompt ............................ 8",
                "(MegatronTrainRayActor pid=7)   use_kl_loss ..................................... True",
                "(MegatronTrainRayActor pid=7)   kl_loss_coef .................................... 0.001",
                "(MegatronTrainRayActor pid=7) -------------------- end of arguments ---------------------",
                *map(_slime, (0, 1, 2)),
            )
        },
        (0, 2),
        {"score_mean": 0.25, "kl_ref": 0.015, "entropy": 0.4, "response_length_mean": 201.25, "time_per_step_s": 20.0},
        "GRPO",
        {"group_size": 8, "kl_coef_loss": 0.001},
        ("phase:rollout", "phase:update_actor"),
        checkpoints={"save/iter_0000020": 20},
    ),
    Case(
        "skyrl",
        {"train.log": "=skyrl-0.4.0.log"},
        (1, 3),
        {"reward_mean": 0.375, "entropy": 0.4321, "response_length_mean": 201.25, "time_per_step_s": 20.5},
        phases=("phase:rollout",),
        samples=("exports/dumped_evals/global_step_20_evals/gsm8k.jsonl",),
        checkpoints={"ckpts/global_step_20": 20},
    ),
    Case(
        "prime_rl",
        {
            "logs/attempt_1/trainer.log": _lines(*map(_prime, (1, 2, 3)), f"{_PRIME}RL trainer finished!"),
            "logs/attempt_1/orchestrator.log": _lines(
                *map(_orchestrator, (1, 2, 3)),
                "\t\t ╰─ math  | Ratio 25.0% | Reward 0.2500 | Turns 1.0 | Max Off-Policy 2 | Truncation 3.1%",
                "\t\t ╰─ code  | Ratio 75.0% | Reward 0.4167 | Turns 1.0 | Max Off-Policy 2 | Truncation 3.1%",
                f"{_PRIME}Evaluated gsm8k (Step 3) | Policy v3 |   12.0s | Reward 0.6250 | Turns 1.0 | Error 0.0%",
            ),
            "configs/trainer.toml": "max_steps = 3\n[optim]\nlr = 1e-6\n[model]\nname = 'm'\n",
        },
        (1, 3),
        {"reward_mean": 0.375, "entropy": 0.4312, "rollout_train_kl": 0.0008, "response_clip_ratio": 0.031}
        | {"val_score": 0.625},
        config={"lr": 1e-6, "model": "m", "total_steps": 3},
        planned=3,
        state="finished",
        samples=("rollouts/step_3/train/effective/traces.jsonl",),
        checkpoints={"checkpoints/step_20": 20},
    ),
    Case(
        "areal",
        {
            "trainer.log": "=areal-1.0.4.log",
            "config.yaml": "actor: {optimizer: {lr: 1.0e-6}, eps_clip: 0.2}\ngconfig: {n_samples: 8}\n",
        },
        (0, 2),
        {"reward_mean": 0.375, "ppo_kl": 0.0123, "entropy": 0.4321},
        config={"lr": 1e-6, "group_size": 8, "clip_low": 0.2},
        phases=("phase:rollout", "phase:update_actor", "phase:weight_sync"),
        planned=500,
        samples=("rollout/3/17.jsonl",),
        checkpoints={"default/epoch0epochstep2globalstep20": 20},
    ),
    Case(
        "roll",
        {"output/logs/log_rank_DRIVER_0_1.log": _lines(*map(_roll, (0, 1, 2)), "[INFO] pipeline complete!")},
        (0, 2),
        {"score_mean": 0.25, "ppo_kl": 0.002, "grad_norm": 0.25, "response_length_mean": 201.25},
        phases=("phase:rollout", "phase:update_actor"),
        state="finished",
        checkpoints={"output/checkpoint-20": 20},
    ),
    Case(
        "open_instruct",
        {"train.log": _lines("open_instruct/grpo_fast.py", *map(_panel, (1, 2, 3)))},
        (1, 3),
        {"reward_mean": 0.375, "kl_ref": 0.25, "response_length_mean": 201.25, "response_clip_ratio": 0.25},
        phases=("phase:update_actor",),
        checkpoints={"out_checkpoints/step_20": 20},
    ),
    Case(
        "tinker_cookbook",
        {"logs.log": "=tinker-cookbook-0.6.1.log", "config.json": '{"learning_rate": 1e-6, "group_size": 8}'},
        (0, 2),
        {"reward_mean": 0.375, "frac_groups_mixed": 0.5, "time_per_step_s": 20.5},
        config={"lr": 1e-6, "group_size": 8},
        phases=("phase:rollout",),
        planned=20,
        samples=("iteration_000003/train_rollout_summaries.jsonl",),
    ),
    Case(
        "ms_swift",
        {
            "v0-20260102-030405/train.log": "=trackers/ms-swift-4.6.0/train.log",
            "v0-20260102-030405/logging.jsonl": "=trackers/ms-swift-4.6.0/logging.jsonl",
            "v0-20260102-030405/args.json": '{"rlhf_type": "grpo", "num_generations": 8, "beta": 0.04}',
        },
        (1, 3),
        {"reward_mean": 0.375, "kl_ref": 0.0016172, "entropy": 0.4321, "gpu_mem_reserved_peak": 12.34},
        config={"group_size": 8, "kl_coef_loss": 0.04},
        planned=3,
        state="finished",
        samples=("v0-20260102-030405/completions.jsonl",),
        checkpoints={"v0-20260102-030405/checkpoint-20": 20},
    ),
    Case(
        "art",
        {".art/p/models/m/history.jsonl": "=trackers/openpipe-art-0.5.18/history.jsonl"},
        (1, 3),
        {"reward_mean": 0.375, "val_score": 0.625, "reward_std": 0.125, "kl_ref": 0.0016, "lr": 1e-6},
        phases=("phase:rollout", "phase:update_actor"),
        samples=(".art/p/models/m/trajectories/train/0003.parquet",),
        checkpoints={".art/p/models/m/checkpoints/0002": 2},
    ),
    Case(
        "llama_factory",
        {"saves/trainer_log.jsonl": _lines(*map(_llama, (1, 2, 3)))},
        (1, 3),
        {"reward_mean": 0.375, "total_loss": 0.5, "lr": 1e-6},
        planned=3,
        state="finished",
        checkpoints={"saves/checkpoint-20": 20},
    ),
    Case(
        "torchtune",
        {"log_1767323045.txt": "=torchtune-0.6.1.txt"},
        (1, 3),
        {"reward_mean": 0.375, "kl_ref": 0.0016, "response_length_mean": 201.25, "lr": 1e-6},
    ),
    Case(
        "deepspeed_chat",
        {
            "training.log": _lines(
                "***** Running training *****",
                "Beginning of Epoch 1/1, Total Generation Batches 3",
                *map(_deepspeed, (0, 1, 2)),
            )
        },
        (0, 2),
        {"reward_mean": 0.25, "pg_loss": 0.25, "vf_loss": 0.125},
        "PPO",
        phases=("phase:rollout", "phase:update_actor"),
        planned=3,
        state="finished",
    ),
    Case(
        "rllm",
        {
            "logs/p/e.jsonl": _lines(
                *(
                    json.dumps(
                        {
                            "step": s,
                            "data": {"batch/solve_partial": 0.5, "actor/pg_loss": 0.1, "critic/score/mean": s / 8},
                        }
                    )
                    for s in (1, 2, 3)
                )
            )
        },
        (1, 3),
        {"score_mean": 0.375, "frac_groups_mixed": 0.5},
        checkpoints={"checkpoints/p/e/global_step_20": 20},
    ),
)
