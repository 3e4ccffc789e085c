"""Problems of job files, all together; and what the presets say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from small_jobs import MODEL, job, mapping

from fabric.errors import InputErrors
from fabric.jobs.load import load_job
from fabric.jobs.presets import JOBS


def problems(**changes: Any) -> dict[str, str]:  # noqa: ANN401
    with pytest.raises(InputErrors) as caught:
        load_job(mapping(**changes), "job.yml")
    return {
        problem.path.removeprefix("job.yml: "): f"{problem.text} | {problem.hint}" for problem in caught.value.problems
    }


@pytest.mark.parametrize("name", JOBS)
def test_presets_are_in_order(name: str) -> None:
    loaded = load_job(JOBS[name], name, name)
    assert loaded.job.parallel.n_ranks == JOBS[name]["gpus"]
    assert loaded.job.name == name


def test_all_problems_of_the_meaning_come_together() -> None:
    found = problems(
        gpus=7, parallel__tp=3, parallel__pp=2, parallel__virtual_stages=3, pipeline__schedule="interleaved",
        batch__micro_batches=5, memory__zero=1,
    )  # fmt: skip
    assert set(found) == {
        "parallel.tp", "gpus", "parallel.layers", "batch.micro_batches", "memory.zero",
    }  # fmt: skip
    assert found["gpus"] == "tp x pp x dp x cp = 3 x 2 x 1 x 1 = 6, not 7 | set gpus: 6"
    assert found["batch.micro_batches"] == (
        "5 micro-batches are no multiple of pp: 2, which interleaved needs | use 4 or 6"
    )


def test_the_right_dp_is_offered_where_it_divides() -> None:
    assert problems(gpus=16, parallel__tp=4)["gpus"].endswith("set gpus: 4, or dp: 4")


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"model__heads": 3, "model__kv_heads": 3}, "model.hidden"),
        ({"model__kv_heads": 3}, "model.heads"),
        ({"parallel__tp": 3}, "parallel.tp"),
        ({"model__feed_forward": 33, "parallel__tp": 2}, "parallel.tp"),
        ({"model__experts": 2, "model__experts_per_token": 3}, "model.experts_per_token"),
        ({"model__experts": 2}, "model.experts_per_token"),
        ({"parallel__order": ["tp", "tp", "dp", "pp"]}, "parallel.order"),
        ({"parallel__dp": 3, "gpus_per_node": 2}, "gpus_per_node"),
        ({"parallel__ep": 2, "parallel__dp": 2}, "parallel.ep"),
        (
            {"parallel__ep": 3, "parallel__dp": 4, "model__experts": 3, "model__experts_per_token": 1},
            "parallel.ep",
        ),
        (
            {
                "parallel__ep": 2,
                "parallel__dp": 2,
                "parallel__tp": 2,
                "model__experts": 2,
                "model__experts_per_token": 1,
            },
            "parallel.sequence_parallel",
        ),
        ({"routing": {"skew": "zipf", "exponent": 1.0}}, "routing"),
        ({"parallel__sequence_parallel": True}, "parallel.sequence_parallel"),
        ({"parallel__context": "ring"}, "parallel.context"),
        ({"parallel__pp": 3}, "parallel.layers"),
        ({"parallel__pp": 2, "parallel__layers": [1, 2]}, "parallel.layers"),
        ({"parallel__pp": 2, "parallel__layers": [4]}, "parallel.layers"),
        ({"parallel__pp": 2, "parallel__layers": [5, -1]}, "parallel.layers"),
        ({"parallel__pp": 2, "parallel__virtual_stages": 2}, "parallel.virtual_stages"),
        ({"parallel__pp": 2, "pipeline__schedule": "interleaved"}, "pipeline.schedule"),
        ({"parallel__virtual_stages": 2, "pipeline__schedule": "interleaved"}, "pipeline.schedule"),
        ({"pipeline__sends": "blocking"}, "pipeline.sends"),
        ({"batch__global_batch": 4}, "batch.micro_batches"),
        ({"batch__sequence": 64}, "batch.sequence"),
        ({"batch__sequence": 15, "parallel__cp": 2}, "batch.sequence"),
        ({"memory__zero": 1}, "memory.zero"),
        ({"memory__keep_gathered": True}, "memory.keep_gathered"),
        ({"memory__bucket": "3B"}, "memory.bucket"),
        ({"compute": {}}, "compute"),
        ({"compute": {"gpu": "h100-sxm"}}, "compute.utilisation"),
        ({"compute": {"gpu": "h100-sxm", "peak_tflops": 1.0, "utilisation": 0.5}}, "compute"),
        ({"compute": {"layer_forward": "1us"}}, "compute.layer_backward"),
        ({"compute__utilisation": 0.5}, "compute.utilisation"),
        ({"compute__causal": True}, "compute.causal"),
        ({"memory__recompute": "selective"}, "memory.recompute"),
        (
            {"compute": {"gpu": "h100-sxm", "utilisation": 0.5, "output_forward": "1us"}},
            "compute.output_forward",
        ),
        (
            {"compute": {"gpu": "h100-sxm", "utilisation": 0.5, "attention_share": 0.4}},
            "compute.attention_share",
        ),
        ({"compute": {"gpu": "h100-sxm", "utilisation": 0.5, "memory": "80GB"}}, "compute.memory"),
        ({"compute__stragglers": [{"rank": 1, "factor": 2.0}]}, "compute.stragglers[0].rank"),
        (
            {"compute__stragglers": [{"rank": 0, "factor": 2.0}, {"rank": 0, "factor": 2.0}]},
            "compute.stragglers[1].rank",
        ),
    ],
)  # fmt: skip
def test_each_contradiction_is_the_only_problem(changes: dict[str, Any], path: str) -> None:
    found = problems(**changes)
    assert set(found) == {path}
    assert all(" | " in text and not text.endswith("| ") for text in found.values())


def test_a_global_batch_must_divide_among_the_replicas() -> None:
    batch = {"sequence": 16, "micro_batch": 2, "global_batch": 10}
    assert "multiple of 4" in problems(batch=batch, parallel__dp=2)["batch.global_batch"]
    assert job(batch={**batch, "global_batch": 12}, parallel__dp=2).micro_batches == 3


def test_fields_have_names_and_units() -> None:
    found = problems(parallel__context_=2, batch={"sequence": "x"}, compute={"layer_forward": 5}, modell="x")
    assert found["parallel.context_"] == "there is no such field | did you mean 'context'?"
    assert "no unit" in found["compute.layer_forward"]
    assert found["modell"].endswith("did you mean 'model'?")
    assert found["batch.sequence"].endswith("| Tokens of a sequence.")
    assert problems(compute=[])["compute"].startswith("[] is not a mapping | its fields are gpu, peak_tflops")


@pytest.mark.parametrize("name", ["layers[0]", "literally", "[", "batch_literal"])
def test_a_field_that_is_called_as_a_kind_of_pydantics_is_named(name: str) -> None:
    assert problems(**{name: 1})[name].startswith("there is no such field")


def test_unknown_presets_are_named_with_the_nearest() -> None:
    raw = mapping()
    raw["model"] = "llama3-80b"
    with pytest.raises(InputErrors, match="no model"):
        load_job(raw, "job.yml")
    assert "no GPU" in problems(compute={"gpu": "h200", "utilisation": 0.5})["compute.gpu"]


def test_layers_may_leave_room_for_embedding_and_output() -> None:
    made = job(model__layers=6, parallel__pp=4, parallel__layers="ends")
    assert made.layers == (1, 2, 2, 1)
    assert job(parallel__pp=2).layers == (2, 2)
    assert job(parallel__pp=2, parallel__layers=[1, 3]).layers == (1, 3)


def test_key_value_heads_and_ties_have_defaults() -> None:
    assert job(model={key: value for key, value in MODEL.items() if key != "kv_heads"}).model.kv_heads == 4
    assert job(model__style="gpt").model.tied_embeddings
    assert not job().model.tied_embeddings


def test_sizes_that_are_too_large_are_refused() -> None:
    assert "gpus" in problems(gpus=2**21)
    found = problems(
        parallel__pp=1024, parallel__layers=[1] * 1024, model__layers=1024, batch__micro_batches=4096, gpus=1024
    )
    assert "2,000,000" in found["batch.micro_batches"]


def test_the_job_file_of_the_documentation_is_in_order() -> None:
    page = (Path(__file__).parents[2] / "docs" / "jobs.md").read_text(encoding="utf-8")
    block = page.split("```yaml\n")[1].split("```")[0]
    assert load_job(yaml.safe_load(block), "docs/jobs.md").job.parallel.n_ranks == 64
