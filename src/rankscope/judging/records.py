"""The records of judging tasks; the store keeps them, so that they are defined below it, in `rankscope.data.tasks`."""

from rankscope.data.tasks import (
    CannotTell,
    GradeLabel,
    Guideline,
    LabelRule,
    PoolKind,
    Preference,
    Task,
    TaskItem,
    TaskMode,
    TaskPlan,
    TaskRater,
    TaskState,
    again_name,
)

__all__ = [
    "CannotTell",
    "GradeLabel",
    "Guideline",
    "LabelRule",
    "PoolKind",
    "Preference",
    "Task",
    "TaskItem",
    "TaskMode",
    "TaskPlan",
    "TaskRater",
    "TaskState",
    "again_name",
]
