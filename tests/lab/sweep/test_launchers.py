"""Runs on GPUs and on clusters: shared out, read back, stopped; and no cluster is an error, not training here."""

import dataclasses
import multiprocessing
import os
import signal
import socket
import sys
import threading
import types
from pathlib import Path

import pytest
import torch

from lab.run.errors import UserError
from lab.run.provenance import take
from lab.sweep import cluster_ray, cluster_slurm, launchers
from lab.sweep.cluster_ray import fits_a_node, needs_of
from lab.sweep.cluster_slurm import Slurm
from lab.sweep.entry import Job
from lab.sweep.launchers import Local
from lab.sweep.resources import JOBS_PER_GPU
from lab.sweep.sweep import sweep
from tests.lab.sweep.test_sweep import entry, name
from tests.lab.toy_train import Config, main
from tests.processes import metrics, say_gpu

SLOW = [entry(seed=seed, device="cuda", steps=3000, pause=0.02) for seed in (10, 11)]


def log(each, runs_root: Path) -> str:
    return (each.run_dir(runs_root) / "log.txt").read_text()


def last_step(run_dir: Path) -> int:
    path = run_dir / "metrics.csv"
    rows = path.read_text().split("\n")[1:-1] if path.exists() else []  # whole ones
    return int(rows[-1].split(",")[0]) if rows else 0


@pytest.fixture
def ctrl_c():
    """It comes as in a terminal, also where these tests were started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def job(entry):
    """As a sweep hands it to a launcher."""
    return Job(entry, take([entry.module])[entry.module])


# ---- GPUs of this machine --------------------------------------------------------------------------------------------


def test_two_runs_get_a_gpu_each(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    monkeypatch.setattr(launchers, "_child", say_gpu)
    runs = [entry(seed=seed, device="cuda") for seed in range(2)]
    local = Local(runs, jobs=2)
    for run in runs:
        local.start(name(run), job(run), run.run_dir(tmp_path))
    ended: dict[str, str] = {}
    while local.running:
        ended |= dict(local.wait(1.0))
    assert ended == {name(run): "" for run in runs}
    assert [log(run, tmp_path) for run in runs] == ["GPU 4", "GPU 6"]
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "4,6"


def test_a_gpu_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="'cuda:7' is not available: this PyTorch sees"):
        sweep({tmp_path: [entry(device="cuda:7")]}, jobs=1)


def test_windows_says_that_it_has_no_fork(monkeypatch):
    monkeypatch.setitem(sys.modules, "multiprocessing.forkserver", None)
    monkeypatch.delattr(multiprocessing, "forkserver", raising=False)
    with pytest.raises(UserError, match="need POSIX's fork; use WSL"):
        Local([entry()], jobs=1)


# ---- Ray -------------------------------------------------------------------------------------------------------------


def test_ray(tmp_path, ctrl_c, monkeypatch):
    """On a cluster of one node with a core and what it takes for two GPUs; with a Ctrl-C in the third of four runs."""
    ray = pytest.importorskip("ray")
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    node = {"num_cpus": 1, "num_gpus": 2, "include_dashboard": False}
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=node)
    learns, dies = entry(device="cuda"), entry("dies", device="cuda")  # Ray keeps the order of what asks for the same
    steps = lambda: [last_step(each.run_dir(tmp_path)) for each in SLOW]  # noqa: E731
    over = threading.Event()

    def interrupt() -> None:
        while not any(steps()) and not over.wait(0.05):
            pass
        if not over.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    user = threading.Thread(target=interrupt)
    try:
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        ray.init(log_to_driver=False, logging_level="ERROR")  # else the tasks would end with the connection
        user.start()
        report = sweep({tmp_path: [learns, dies, *SLOW]}, jobs=2, launcher="ray")
        assert report.interrupted and report.exit_code == 130 and ray.is_initialized()
        assert report.finished == [name(learns)] and list(report.failed) == [name(dies)]
        assert "dies starts at step 0\n" in report.failed[name(dies)]
        assert "ray: The worker died unexpectedly" in report.failed[name(dies)]
        assert log(learns, tmp_path).splitlines()[0] in ("GPU 0", "GPU 1"), "what Ray gave, or it gave nothing"
        main(Config(), tmp_path / "whole")
        assert metrics(learns.run_dir(tmp_path)) == metrics(tmp_path / "whole")
        assert '"threads": 1,' in (learns.run_dir(tmp_path) / "config.json").read_text()
        assert sum(each.run_dir(tmp_path).exists() for each in SLOW) == 1, "the second still waited"
        at_the_end = steps()

        monkeypatch.setattr(cluster_ray, "replay_needs", lambda entries: [10**15])
        with pytest.raises(UserError, match=r"no node of the Ray cluster has 1000000\.5 GB of memory"):
            sweep({tmp_path: [entry(seed=5)]}, jobs=1, launcher="ray")
        ray.shutdown()
        with pytest.raises(UserError, match="no node of the Ray cluster"):
            sweep({tmp_path: [entry(seed=5)]}, jobs=1, launcher="ray")
        assert not ray.is_initialized(), "what it has connected, it leaves"
        assert steps() == at_the_end, "a run goes on after the sweep"
    finally:
        over.set()
        ray.shutdown()
        cluster.shutdown()


def test_without_a_cluster_nothing_is_trained(tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody_listens.getsockname()[1]}"
        for wrong in (address, "ray://" + address, "here", "127.0.0.1:99999"):
            monkeypatch.setenv("RAY_ADDRESS", wrong)
            with pytest.raises(UserError, match=f"no Ray cluster at RAY_ADDRESS={wrong}: set RAY_ADDRESS, or .*head"):
                sweep({tmp_path: [entry()]}, jobs=1, launcher="ray")
    monkeypatch.delenv("RAY_ADDRESS")

    def init(address: str, **options) -> None:
        assert address == "auto", "without an address, Ray would start an instance of its own"
        raise ConnectionError("Could not find any running Ray instance. Please specify the one to connect to.")

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(UserError, match=r"no Ray cluster to train on \(Could not find any .*LAUNCHER=local") as error:
        sweep({tmp_path: [entry()]}, jobs=1, launcher="ray")
    assert "\n" not in str(error.value) and not list(tmp_path.iterdir())


def test_what_a_task_asks_for_and_which_node_has_it(monkeypatch):
    on_cpu, on_gpu = needs_of(entry(), 2 * 10**9), needs_of(entry(device="cuda"), 0)
    assert on_cpu == {"num_cpus": 1, "num_gpus": 0, "memory": 2.5e9}
    assert on_gpu["num_gpus"] * JOBS_PER_GPU == 1
    with_actors = dataclasses.replace(entry(), target="players:main")
    players = types.SimpleNamespace(ray_actors=lambda config: 4)
    monkeypatch.setitem(sys.modules, "players", players)
    assert needs_of(with_actors, 0) == {"num_cpus": 5, "num_gpus": 0, "memory": 2.5e9}
    assert not fits_a_node(needs_of(with_actors, 0), [{"CPU": 4.0, "memory": 9e9}])
    small, large = {"CPU": 4.0, "memory": 2e9}, {"CPU": 4.0, "memory": 9e9}
    assert fits_a_node(on_cpu, [small, large]) and not fits_a_node(on_cpu, [small])
    assert fits_a_node(on_gpu, [small | {"GPU": 1.0}]) and not fits_a_node(on_gpu, [large])
    assert not fits_a_node(on_gpu, [large, {"CPU": 4.0, "GPU": 1.0, "memory": 1e8}]), "not half here and half there"


@pytest.mark.parametrize(("launcher", "package"), [("ray", "ray"), ("slurm", "submitit")])
def test_a_cluster_chooses_the_gpu_and_needs_its_package(launcher, package, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_slurm, "CLUSTER", "local")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, package, None)
        with pytest.raises(UserError, match=f"^LAUNCHER={launcher} needs {package}: .venv/bin/pip install --group cl"):
            sweep({tmp_path: [entry()]}, jobs=1, launcher=launcher)
    pytest.importorskip(package)
    with pytest.raises(UserError, match="DEVICE=cuda:1 does not work on a cluster"):
        sweep({tmp_path: [entry(device="cuda:1")]}, jobs=1, launcher=launcher)


# ---- SLURM -----------------------------------------------------------------------------------------------------------


def test_jobs_of_submitit(tmp_path, monkeypatch):
    """With submitit's own processes instead of SLURM's."""
    core = pytest.importorskip("submitit.core.core")
    monkeypatch.setattr(cluster_slurm, "CLUSTER", "local")
    monkeypatch.setattr(cluster_slurm, "POLL_SECONDS", 0.1)
    monkeypatch.setattr(core.Job, "_results_timeout_s", 0)  # seconds that a result may be late on a slow disk
    learns, dies = entry(), entry("dies")
    report = sweep({tmp_path: [learns, dies]}, jobs=2, launcher="slurm")
    assert report.finished == [name(learns)] and list(report.failed) == [name(dies)]
    assert report.failed[name(dies)].startswith("dies starts at step 0\nslurm: job ")
    assert log(learns, tmp_path) == "plain starts at step 0\n"
    main(Config(), tmp_path / "whole")
    assert metrics(learns.run_dir(tmp_path)) == metrics(tmp_path / "whole")
    assert '"threads": 1,' in (learns.run_dir(tmp_path) / "config.json").read_text()


@pytest.fixture
def slurm(tmp_path, monkeypatch) -> Path:
    """A folder of commands that answer as SLURM's would: every job runs out of memory at once."""
    pytest.importorskip("submitit")
    bin = tmp_path / "bin"
    bin.mkdir()
    commands = {
        "sbatch": 'n=$(($(cat n 2>/dev/null || echo 4100) + 1)); echo $n > n; cp "$1" $n.sh; '
        'echo "Submitted batch job $n"; echo a node complains > "$(dirname "$1")/${n}_0_log.err"',
        "srun": "",
        "sacct": 'echo "JobID|State|NodeList"; for job in [0-9]*.sh; do echo "${job%.sh}|OUT_OF_MEMORY|node1"; done',
        "scancel": 'echo "$@" >> cancelled',
    }
    for command, script in commands.items():
        (bin / command).write_text(f'#!/bin/sh\ncd "{bin}"\n{script}\n')
        (bin / command).chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin}:{os.environ['PATH']}")
    monkeypatch.setattr(cluster_slurm, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(sys.modules["submitit.core.core"].Job, "_results_timeout_s", 0)
    return bin


def test_what_slurm_is_asked_for_and_a_job_that_dies_on_its_node(tmp_path, slurm, monkeypatch):
    monkeypatch.setattr(cluster_slurm, "replay_needs", lambda entries: [7_100_000_000, 0])
    on_gpu, on_cpu = entry(device="cuda"), entry()
    report = sweep({tmp_path / "runs": [on_gpu, on_cpu]}, jobs=1, launcher="slurm")
    assert not report.finished and set(report.failed) == {name(on_gpu), name(on_cpu)}
    error = "a node complains\nslurm: job 4101 ended without a result (OUT_OF_MEMORY)"
    assert report.failed[name(on_gpu)] == error
    first, second = ((slurm / f"{n}.sh").read_text() for n in (4101, 4102))
    for line in ("mem=9GB", "gpus-per-node=1", "cpus-per-task=1", "time=1440", f"job-name={name(on_gpu)}"):
        assert f"#SBATCH --{line}\n" in first
    assert "#SBATCH --mem=2GB\n" in second and "gpus" not in second
    assert not (slurm / "cancelled").exists()


def test_a_sweep_that_ends_early_cancels_its_jobs(tmp_path, slurm, ctrl_c, monkeypatch):
    """Also the one that is being submitted when the Ctrl-C comes."""
    (slurm / "sacct").write_text("#!/bin/sh\n")  # nothing is known of the jobs yet
    (tmp_path / "runs").mkdir()
    workers = Slurm(SLOW, jobs=2)
    workers.start(name(SLOW[0]), job(SLOW[0]), SLOW[0].run_dir(tmp_path / "runs"))
    assert workers.room()
    executor = workers.submitit.AutoExecutor
    submit = executor.submit

    def submit_and_interrupt(*arguments):
        submitted = submit(*arguments)
        signal.raise_signal(signal.SIGINT)
        return submitted

    monkeypatch.setattr(executor, "submit", submit_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        workers.start(name(SLOW[1]), job(SLOW[1]), SLOW[1].run_dir(tmp_path / "runs"))
    assert not workers.room(), "not more than JOBS in the queue"
    workers.stop()
    assert (slurm / "cancelled").read_text().split() == ["4101", "4102"]


def test_slurm_that_cannot_be_used(tmp_path, slurm, monkeypatch, capsys):
    def refused(match: str) -> None:
        with pytest.raises(UserError, match=match) as error:
            sweep({tmp_path / "runs": [entry(), entry(seed=1)]}, jobs=2, launcher="slurm")
        assert "\n" not in str(error.value) and not list((tmp_path / "runs").glob("*/log.txt"))

    (slurm / "sbatch").write_text("#!/bin/sh\necho sbatch: error: invalid partition specified: fast >&2\nexit 1\n")
    refused("sbatch refused a job: sbatch: error: invalid partition specified: fast; SBATCH_PARTITION")
    (slurm / "sacct").write_text("#!/bin/sh\necho Slurm accounting storage is disabled >&2\nexit 1\n")
    refused("sacct says Slurm accounting storage is disabled")
    monkeypatch.setenv("PATH", str(tmp_path))
    refused("LAUNCHER=slurm needs sbatch: start on a login node of the cluster; LAUNCHER=local trains here")
