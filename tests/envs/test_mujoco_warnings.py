"""MuJoCo's warnings: the one that asks nothing of anybody is silent, others are not."""

import mujoco
import pytest

from envs.mujoco_warnings import MASSES, quiet_masses
from papers.ners.agents.tasks import make_env as make_ners
from papers.ref_er.agents.tasks import make_env as make_ref_er


@pytest.mark.parametrize(("make", "name"), [(make_ners, "HalfCheetah-v4"), (make_ref_er, "HalfCheetah-v5")])
def test_a_half_cheetah_is_made_without_a_word(make, name, capfd, recwarn):
    make(name).close()
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list
    assert mujoco.get_mju_user_warning() is None, "and what was before is again"


def test_what_else_mujoco_says_is_heard(capfd):
    """Also of the model that is made in silence, should its author drop something else."""
    said: list[str] = []
    with quiet_masses("HalfCheetah-v5"):
        speak = mujoco.get_mju_user_warning()
        speak(f"{MASSES} and will be removed")
        speak("a body has no mass")
    assert capfd.readouterr().err == "WARNING: a body has no mass\n"
    mujoco.set_mju_user_warning(said.append)
    try:
        with quiet_masses("HalfCheetah-v5"):
            mujoco.get_mju_user_warning()("a body has no mass")
    finally:
        mujoco.set_mju_user_warning(None)
    assert said == ["a body has no mass"]


def test_other_tasks_are_left_alone():
    with quiet_masses("Hopper-v5"):
        assert mujoco.get_mju_user_warning() is None
