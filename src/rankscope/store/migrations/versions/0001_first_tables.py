"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "alert",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("opened", sa.String(length=32), nullable=False),
        sa.Column("recovered", sa.String(length=32), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_alert_name", "alert", ["name"], unique=False)
    op.create_table(
        "blob",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("n_bytes", sa.BigInteger(), nullable=False),
        sa.Column("n_chunks", sa.Integer(), nullable=False),
        sa.Column("stored", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_blob")),
    )
    op.create_table(
        "collection",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("stored", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_collection")),
        sa.UniqueConstraint("name", name=op.f("uq_collection_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "config",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_config")),
        sa.UniqueConstraint("sha256", name=op.f("uq_config_sha256")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "guideline",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("stored", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_guideline")),
    )
    op.create_table(
        "meta",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_meta")),
    )
    op.create_table(
        "query",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("queries_sha256", sa.String(length=64), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("attributes", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_query")),
        sa.UniqueConstraint("queries_sha256", "place", name=op.f("uq_query_queries_sha256")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "system",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_system")),
        sa.UniqueConstraint("name", "type", name=op.f("uq_system_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "target",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("stored", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_target")),
        sa.UniqueConstraint("sha256", name=op.f("uq_target_sha256")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "blob_chunk",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["sha256"], ["blob.sha256"], name=op.f("fk_blob_chunk_sha256")),
        sa.PrimaryKeyConstraint("sha256", "place", name=op.f("pk_blob_chunk")),
    )
    op.create_table(
        "collection_version",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("collection_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("queries_sha256", sa.String(length=64), nullable=False),
        sa.Column("docs_sha256", sa.String(length=64), nullable=False),
        sa.Column("qrels_sha256", sa.String(length=64), nullable=False),
        sa.Column("counts", sa.Text(), nullable=False),
        sa.Column("stored", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["collection_id"], ["collection.id"], name=op.f("fk_collection_version_collection_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_collection_version")),
        sa.UniqueConstraint("collection_id", "version", name=op.f("uq_collection_version_collection_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_collection_version_collection_id"), "collection_version", ["collection_id"], unique=False)
    op.create_index(
        op.f("ix_collection_version_queries_sha256"), "collection_version", ["queries_sha256"], unique=False
    )
    op.create_table(
        "comparison",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("request_sha256", sa.String(length=64), nullable=False),
        sa.Column("subject_sha256", sa.String(length=64), nullable=False),
        sa.Column("queries_sha256", sa.String(length=64), nullable=False),
        sa.Column("result_sha256", sa.String(length=64), nullable=False),
        sa.Column("pairs", sa.Text(), nullable=False),
        sa.Column("look", sa.Integer(), nullable=False),
        sa.Column("stored", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["result_sha256"], ["blob.sha256"], name=op.f("fk_comparison_result_sha256")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comparison")),
        sa.UniqueConstraint("request_sha256", name=op.f("uq_comparison_request_sha256")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_comparison_queries_sha256"), "comparison", ["queries_sha256"], unique=False)
    op.create_index(op.f("ix_comparison_result_sha256"), "comparison", ["result_sha256"], unique=False)
    op.create_table(
        "doc",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("collection_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("doc", sa.Text(), nullable=False),
        sa.Column("doc_sha256", sa.String(length=64), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("fields", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["collection_id"], ["collection.id"], name=op.f("fk_doc_collection_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_doc")),
        sa.UniqueConstraint("collection_id", "doc_sha256", "sha256", name=op.f("uq_doc_collection_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_doc_collection_id"), "doc", ["collection_id"], unique=False)
    op.create_table(
        "judgment",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("collection", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("doc", sa.Text(), nullable=False),
        sa.Column("grade", sa.Float(precision=53), nullable=True),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("rater", sa.Text(), nullable=False),
        sa.Column("guideline_sha256", sa.String(length=64), nullable=True),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("stored", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["guideline_sha256"], ["guideline.sha256"], name=op.f("fk_judgment_guideline_sha256")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_judgment")),
        sa.UniqueConstraint("uuid", name=op.f("uq_judgment_uuid")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_judgment_collection", "judgment", ["collection", "task"], unique=False)
    op.create_table(
        "notification",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("alert_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("notifier", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("sent", sa.String(length=32), nullable=True),
        sa.Column("failure", sa.Text(), nullable=False),
        sa.Column("stored", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["alert_id"], ["alert.id"], name=op.f("fk_notification_alert_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notification")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_notification_alert_id"), "notification", ["alert_id"], unique=False)
    op.create_table(
        "qrels",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("judgments_sha256", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("stored", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["judgments_sha256"], ["blob.sha256"], name=op.f("fk_qrels_judgments_sha256")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_qrels")),
        sa.UniqueConstraint("digest", name=op.f("uq_qrels_digest")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_qrels_judgments_sha256"), "qrels", ["judgments_sha256"], unique=False)
    op.create_table(
        "run",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("ranking_sha256", sa.String(length=64), nullable=False),
        sa.Column("system_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("config_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("collection_version_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("asked_sha256", sa.String(length=64), nullable=False),
        sa.Column("latencies_sha256", sa.String(length=64), nullable=True),
        sa.Column("repetition", sa.Integer(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("started", sa.String(length=32), nullable=False),
        sa.Column("stored", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["asked_sha256"], ["blob.sha256"], name=op.f("fk_run_asked_sha256")),
        sa.ForeignKeyConstraint(
            ["collection_version_id"], ["collection_version.id"], name=op.f("fk_run_collection_version_id")
        ),
        sa.ForeignKeyConstraint(["config_id"], ["config.id"], name=op.f("fk_run_config_id")),
        sa.ForeignKeyConstraint(["latencies_sha256"], ["blob.sha256"], name=op.f("fk_run_latencies_sha256")),
        sa.ForeignKeyConstraint(["ranking_sha256"], ["blob.sha256"], name=op.f("fk_run_ranking_sha256")),
        sa.ForeignKeyConstraint(["system_id"], ["system.id"], name=op.f("fk_run_system_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sa.UniqueConstraint("digest", name=op.f("uq_run_digest")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_run_asked_sha256"), "run", ["asked_sha256"], unique=False)
    op.create_index(op.f("ix_run_collection_version_id"), "run", ["collection_version_id"], unique=False)
    op.create_index(op.f("ix_run_config_id"), "run", ["config_id"], unique=False)
    op.create_index(op.f("ix_run_latencies_sha256"), "run", ["latencies_sha256"], unique=False)
    op.create_index(op.f("ix_run_ranking_sha256"), "run", ["ranking_sha256"], unique=False)
    op.create_index(op.f("ix_run_system_id"), "run", ["system_id"], unique=False)
    op.create_table(
        "scores",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("run_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("qrels_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("measure", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("policies_sha256", sa.String(length=64), nullable=False),
        sa.Column("data_sha256", sa.String(length=64), nullable=False),
        sa.Column("queries_sha256", sa.String(length=64), nullable=False),
        sa.Column("vector_sha256", sa.String(length=64), nullable=False),
        sa.Column("mean", sa.Float(precision=53), nullable=True),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["qrels_id"], ["qrels.id"], name=op.f("fk_scores_qrels_id")),
        sa.ForeignKeyConstraint(["queries_sha256"], ["blob.sha256"], name=op.f("fk_scores_queries_sha256")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_scores_run_id")),
        sa.ForeignKeyConstraint(["vector_sha256"], ["blob.sha256"], name=op.f("fk_scores_vector_sha256")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scores")),
        sa.UniqueConstraint(
            "run_id", "qrels_id", "measure", "version", "policies_sha256", "data_sha256", name=op.f("uq_scores_run_id")
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_scores_qrels_id"), "scores", ["qrels_id"], unique=False)
    op.create_index(op.f("ix_scores_queries_sha256"), "scores", ["queries_sha256"], unique=False)
    op.create_index(op.f("ix_scores_run_id"), "scores", ["run_id"], unique=False)
    op.create_index(op.f("ix_scores_vector_sha256"), "scores", ["vector_sha256"], unique=False)
    op.create_table(
        "tag",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("run_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("stored", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_tag_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tag")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_tag_name", "tag", ["name"], unique=False)
    op.create_index(op.f("ix_tag_run_id"), "tag", ["run_id"], unique=False)
    op.create_table(
        "target_result",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("target_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("run_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("stored", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_target_result_run_id")),
        sa.ForeignKeyConstraint(["target_id"], ["target.id"], name=op.f("fk_target_result_target_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_target_result")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_target_result_run_id"), "target_result", ["run_id"], unique=False)
    op.create_index(op.f("ix_target_result_target_id"), "target_result", ["target_id"], unique=False)
