import { noteProgress } from '../../core/canvas/canvas.ts'
import { BatonError } from '../../core/errors.ts'
import { transact } from '../kernel/kernel.ts'
import type { System } from '../kernel/system.ts'

/** Leaves the rest, from a leaf on, to another message; until it comes, the canvas shows that somebody is at it. */
export async function continueCanvas(
  system: System,
  { id, born }: { readonly id: string; readonly born: string },
  from: number,
): Promise<void> {
  await transact(system, await system.tasks.head(id), current =>
    current?.born === born ? noteProgress(current, system.clock.now()) : NOTHING,
  )
  await sendCanvasLook(system, { id, born }, from)
}

const NOTHING = { ok: false, reason: 'nothing-to-note' } as const

/** @throws BatonError `unavailable` when the message cannot be sent. */
export async function sendCanvasLook(
  system: System,
  { id, born }: { readonly id: string; readonly born: string },
  from: number,
): Promise<void> {
  const [failure] = await system.messages.lookAtCanvases([{ id, born, from, delaySeconds: 0 }])
  if (failure) throw new BatonError('unavailable', `a look at ${id} is not sent: ${failure.reason}`)
}
