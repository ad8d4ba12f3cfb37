"""Trains a tiny model with TRL's GRPO trainer and keeps what it logged; a later launch goes on from a checkpoint.

    python train.py TRUTH TOTAL FIRST LAST SEED KILLED [no-bar]

Runs in the folder that gets the files. All of the callbacks of transformers log: TensorBoard, W&B, MLflow,
trackio; the console, and the state in each checkpoint. `no-bar`: as with `disable_tqdm`, the console alone.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.fixtures.writers.trl_runs import PROMPTS, data, model, tokenizer

SAVED = 10
"""Checkpoints of a whole run."""


def main(truth: str, total: int, first: int, last: int, seed: int, killed: bool, bar: bool) -> None:
    import torch
    from transformers import TrainerCallback, set_seed
    from trl import GRPOConfig, GRPOTrainer

    set_seed(seed)
    torch.set_num_threads(1)
    held = os.open(truth, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    class Truth(TrainerCallback):  # type: ignore[misc]
        """What the trainer gave to its callbacks; ended where the mode wants it."""

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **rest: Any) -> None:
            os.write(held, (json.dumps({"step": state.global_step, "values": dict(logs)}) + "\n").encode())

        def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            control.should_training_stop |= state.global_step >= last and not killed

        def on_step_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
            if killed and state.global_step >= last:
                os.kill(os.getpid(), signal.SIGKILL)

    def share(completions: list[str], **rest: object) -> list[float]:
        return [(text.split().count("yes") + seed) / 4 for text in completions]

    args = GRPOConfig(
        output_dir="out",
        per_device_train_batch_size=4,
        gradient_accumulation_steps=1,
        learning_rate=1e-3,
        report_to=["tensorboard", "wandb", "mlflow", "trackio"] if bar else "none",
        run_name="e",
        project="p",
        logging_steps=1,
        save_strategy="steps",
        save_steps=total // SAVED,
        save_total_limit=1,
        max_steps=total,
        max_completion_length=4,
        num_generations=4,
        beta=0.04,
        use_cpu=True,
        disable_tqdm=not bar,
        bf16=False,
    )
    if not os.path.exists("model"):
        model().save_pretrained("model")
        tokenizer().save_pretrained("model")
    trainer = GRPOTrainer(
        "model", share, args=args, train_dataset=data([{"prompt": p} for p in PROMPTS]), processing_class=tokenizer()
    )
    trainer.callback_handler.callbacks.insert(0, Truth())
    trainer.train(resume_from_checkpoint=first > 1)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:6]), sys.argv[6] == "1", len(sys.argv) < 8)  # type: ignore[call-arg]
