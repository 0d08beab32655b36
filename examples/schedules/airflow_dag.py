"""Airflow 3: every day the orders of the day before. A task that is tried again goes on where it was.

Put it into the folder of DAGs, beside orders.yaml. Airflow's own intervals are the dates, so a day that was
missed is made up for, and `airflow backfill create` runs days again: those that are done read nothing twice.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG
from airflow.timetables.interval import CronDataIntervalTimetable

PIPELINE = Path(__file__).with_name("orders.yaml")

with DAG(
    "orders",
    schedule=CronDataIntervalTimetable("15 0 * * *", timezone="UTC"),
    start_date=datetime(2026, 11, 1, tzinfo=UTC),
    catchup=True,
    max_active_runs=1,  # a pipeline does one backfill at a time
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5)},
):
    BashOperator(
        task_id="run",
        bash_command=(
            f"pyjs pipeline run {PIPELINE}"
            " --from {{ data_interval_start | ds }} --to {{ data_interval_end | ds }}"
        ),
        append_env=True,
    )
