import type { Composition } from '../../../shared/core/canvas/tree.ts'
import type { LeafRequest } from '../../../shared/runtime/canvas/canvas.ts'
import { readCanvas } from '../../../shared/runtime/canvas/describe-canvas.ts'
import { cancelCanvas } from '../../../shared/runtime/canvas/drive-canvas.ts'
import { publishCanvas } from '../../../shared/runtime/canvas/publish-canvas.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { cancelTask, removeTask, restartTask } from '../../../shared/runtime/operate/operate.ts'
import type { Job, Step } from '../scenario.ts'
import type { Answer } from '../world/history.ts'
import { requestOfJob } from './requests.ts'

export type CanvasStep = Extract<Step, { readonly canvas: string }>

/** Does what the API's canvas routes do. */
export async function operateCanvas(system: System, step: CanvasStep): Promise<Answer> {
  const id = idOf(step.canvas)
  switch (step.do) {
    case 'publish-canvas': {
      const { canvas: key, sendConcurrency } = step
      const outcome = await publishCanvas(system, {
        key,
        composition: requestsIn(step.composition),
        ...(sendConcurrency !== undefined && { sendConcurrency }),
      })
      return outcome.ok ? { ok: true, created: outcome.created } : outcome
    }
    case 'cancel-canvas':
      return cancelCanvas(system, id)
    case 'read-canvas': {
      const read = await readCanvas(system, id, { limit: PAGE })
      return read.ok ? { ok: true } : read
    }
    case 'operate-member':
      return operateMember(system, id, step)
  }
}

const PAGE = 5

function idOf(key: string): string {
  return `canvas:${key}`
}

/** Operates one member of a canvas. Its id contains the birth of the canvas, so it is read first. */
async function operateMember(
  system: System,
  canvasId: string,
  { leaf, operation }: Extract<Step, { readonly do: 'operate-member' }>,
): Promise<Answer> {
  const read = await readCanvas(system, canvasId, { limit: LEAVES_MAX })
  const id = read.ok ? read.canvas.items[leaf]?.taskId : undefined
  if (id === undefined) return { ok: false, reason: 'unknown' }
  switch (operation) {
    case 'cancel':
      return cancelTask(system, id)
    case 'remove':
      return removeTask(system, id)
    case 'restart':
      return restartTask(system, id)
  }
}

const LEAVES_MAX = 100

function requestsIn(composition: Composition<Job>): Composition<LeafRequest> {
  if ('leaf' in composition) return { leaf: requestOfJob(composition.leaf) }
  if ('chain' in composition) return { chain: composition.chain.map(requestsIn) }
  if ('group' in composition) return { group: composition.group.map(requestsIn) }
  const { group, then, onError } = composition.chord
  const callbacks = { then: requestsIn(then), ...(onError && { onError: requestsIn(onError) }) }
  return { chord: { group: group.map(requestsIn), ...callbacks } }
}
