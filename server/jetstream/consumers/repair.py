"""Bringing a consumer's restored state in line with its stream, which may have lost or dropped messages."""

from .delivery_state import DeliveryState


def repair(state: DeliveryState, first_seq: int, last_seq: int) -> list[str]:
    """Let nothing be delivered or pending that is not in the stream, `first_seq` to `last_seq`.

    Gives a line for each thing that had to be changed, for the log.
    """
    lines: list[str] = []
    pending = {**state.pending, **state.aside}
    if state.stream_seq > last_seq:
        lines.append(f"delivered sequence {state.stream_seq} is past the stream's last {last_seq}")
        for seq in [seq for seq in pending if seq > last_seq]:
            state.forget(seq)
            del pending[seq]
        for seq in [seq for seq in state.redelivered if seq > last_seq]:
            state.recount(seq, 0)
        state.stream_seq = last_seq
        state.consumer_seq = max((entry[0] for entry in pending.values()), default=state.consumer_seq)
    if state.floor_stream > state.stream_seq:
        lines.append(f"ack floor {state.floor_stream} is past the delivered sequence {state.stream_seq}")
        state.floor_stream = state.stream_seq
        state.floor_consumer = min(state.floor_consumer, state.consumer_seq)
    below = [seq for seq in pending if seq < first_seq or seq <= state.floor_stream]
    if below:
        lines.append(f"{len(below)} pending messages are below the ack floor or gone from the stream")
        for seq in below:
            state.forget(seq)
            state.recount(seq, 0)
    above = [seq for seq in pending if seq > state.stream_seq]
    if above:
        lines.append(f"{len(above)} pending messages are past the delivered sequence {state.stream_seq}")
        for seq in above:
            state.forget(seq)
    for seq in [seq for seq in state.redelivered if seq < first_seq]:
        state.recount(seq, 0)
    state.advance_floor()
    return lines
