import { noteProgress } from '../../core/canvas/canvas.ts'
import { BatonError } from '../../core/errors.ts'
import { isCanvas } from '../../core/task/head.ts'
import { ofSameBirth, transact } from '../kernel/kernel.ts'
import { readHead } from '../kernel/read-heads.ts'
import type { System } from '../kernel/system.ts'

/**
 * Sends a message that continues the work on the canvas, beginning with the leaf number `from`. It first updates the
 * change time of the head, so that the sweeper does not take that message for lost.
 */
export async function continueCanvas(
  system: System,
  { id, born }: { readonly id: string; readonly born: string },
  from: number,
): Promise<void> {
  await transact(
    system,
    await readHead(system, id, isCanvas),
    ofSameBirth({ born }, current => noteProgress(current, system.clock.now())),
  )
  await sendCanvasLook(system, { id, born }, from)
}

/**
 * Sends a message to work on the canvas, beginning with the leaf number `from`.
 *
 * @throws BatonError `unavailable` when the message cannot be sent.
 */
export async function sendCanvasLook(
  system: System,
  { id, born }: { readonly id: string; readonly born: string },
  from: number,
): Promise<void> {
  const [failure] = await system.messages.lookAtCanvases([{ id, born, from, delaySeconds: 0 }])
  if (failure) throw new BatonError('unavailable', `a look at ${id} could not be sent: ${failure.reason}`)
}
