import { isItemFault } from '../../core/errors.ts'
import type { Canvas } from '../../core/task/head-fields.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import { type PublishOutcome, publish } from '../publish/publish.ts'
import { createArrivals } from '../publish/resolve-publication.ts'
import { batchTypeReader } from '../types/type-cache.ts'
import { type LoadedCanvas, leafRequest, memberKey } from './canvas.ts'
import { handedOnReader, renewHandedOnResult } from './handed-on.ts'

const SEND_CONCURRENCY = 25

/**
 * Publishes the members at these leaves; members that are published already stay as they are. `head` is the
 * head of the canvas, read just before with strong consistency: only an open canvas starts members.
 *
 * Returns the leaves that will never run. A publish is refused for good when its type has changed, when another
 * task has the member's key, or when the stored body cannot be read.
 *
 * @throws BatonError when the store does not answer.
 */
export async function startLeaves(
  system: System,
  canvas: LoadedCanvas,
  head: Canvas,
  leaves: readonly number[],
): Promise<number[]> {
  const handedOnTo = handedOnReader(system, canvas)
  const sendConcurrency = head.canvas?.sendConcurrency ?? SEND_CONCURRENCY
  const typeOf = batchTypeReader(system)
  const arrivals = createArrivals(system, leaves.length)
  const outcomes = await sideBySide(leaves, sendConcurrency, async (leaf, index) => {
    const arrival = arrivals[index]
    const request = await leafRequest(system, canvas, leaf)
    const previous = request.immutable ? undefined : await handedOnTo(leaf)
    const publication = {
      ...(head.traceparent !== undefined && { traceparent: head.traceparent }),
      ...request,
      key: memberKey(canvas.born, leaf),
      once: true as const,
      ...(arrival && { arrival }),
      member: { canvasId: canvas.canvasId, born: canvas.born, leaf },
      ...(previous && { previous }),
    }
    const outcome = await publish(system, publication, typeOf)
    if (outcome.ok) await renewHandedOnResult(system, outcome.task)
    return outcome
  })
  return leaves.filter((leaf, index) => isRefused(system, canvas, leaf, outcomes[index]))
}

function isRefused(
  system: System,
  { id, born }: LoadedCanvas,
  leaf: number,
  outcome: PublishOutcome | undefined,
): boolean {
  if (!outcome || (outcome.ok && outcome.task.member?.born === born)) return false
  const isOutcomeUnknown = !outcome.ok && outcome.reason === 'error' && !isItemFault(outcome.error)
  if (isOutcomeUnknown) throw outcome.error
  system.log.error('a member of a canvas cannot be published; it counts as failed', {
    canvasId: id,
    leaf,
    outcome,
  })
  return true
}
