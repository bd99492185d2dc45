import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { End } from '../../../shared/core/task/head-fields.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { LoadedCanvas } from '../../../shared/runtime/canvas/canvas.ts'
import { driveCanvas } from '../../../shared/runtime/canvas/drive-canvas.ts'
import { sweepCanvases } from '../../../shared/runtime/canvas/sweep-canvases.ts'
import { canvases, type Canvas as Form } from '../../core/canvas/a-canvas.ts'
import { modelOf, progressOf } from '../../core/canvas/naive-model.ts'
import { MINUTE } from '../../support/tasks/a-task.ts'
import {
  aCanvasWorld,
  leaf,
  member,
  plan,
  published,
  run,
  shown,
  startedLeaves,
  type Written,
} from '../../support/worlds/a-canvas-world.ts'
import { beforeWrites, type MemorySystem, noAnswer } from '../../support/worlds/memory-system.ts'

/** The fate of a record of the stream: it is delivered once or twice, it is lost, or its planner dies midway. */
const FATES = ['comes', 'twice', 'late', 'lost', 'dies'] as const
type Fate = (typeof FATES)[number]

const lives = fc.record({
  form: canvases.filter(form => !('leaf' in form)),
  failing: fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }),
  fates: fc.array(fc.constantFrom<Fate>(...FATES), { minLength: 1, maxLength: 10 }),
})

/** The tasks of the composition: leaf n fails if `failing` says so. */
function written(form: Form, failing: readonly boolean[], next = { leaf: 0 }): Written {
  if ('leaf' in form) return failing[next.leaf++ % failing.length] ? leaf('boom') : leaf('list', [])
  const all = (members: readonly Form[]) => members.map(one => written(one, failing, next))
  if ('chain' in form) return { chain: all(form.chain) }
  if ('group' in form) return { group: all(form.group) }
  const group = all(form.chord.group)
  const callback = written(form.chord.then, failing, next)
  const onError = form.chord.onError && written(form.chord.onError, failing, next)
  return { chord: { group, then: callback, ...(onError && { onError }) } }
}

/** A planner that dies after a number of writes of heads. */
function dyingAfter(system: MemorySystem, writes: number): MemorySystem {
  let left = writes
  return beforeWrites(system, () => {
    left -= 1
    if (left < 0) noAnswer()
  })
}

async function deliver(system: MemorySystem, task: Task, fate: Fate, late: Task[]): Promise<void> {
  if (fate === 'late') late.push(task)
  if (fate === 'comes' || fate === 'twice') await plan(system, task)
  if (fate === 'twice') await plan(system, task)
  if (fate === 'dies') await plan(dyingAfter(system, 0), task)
}

async function openLeaves(system: MemorySystem, canvas: LoadedCanvas): Promise<number[]> {
  const heads = await Promise.all(canvas.types.map((_type, number) => member(system, canvas, number)))
  return heads.flatMap((head, number) => (head?.state === 'open' ? [number] : []))
}

/**
 * Runs all tasks that there are, and gives the record of each end its fate. Then the sweeper and late records
 * repair, until no task runs any more.
 */
async function live(system: MemorySystem, canvas: LoadedCanvas, fates: readonly Fate[]): Promise<void> {
  const late: Task[] = []
  let ended = 0
  for (;;) {
    const open = await openLeaves(system, canvas)
    for (const number of open) {
      const fate = fates[ended++ % fates.length] ?? 'comes'
      await deliver(system, await run(system, canvas, number), fate, late)
    }
    if (open.length > 0) continue
    const before = (await startedLeaves(system, canvas)).length
    await system.clock.advance(MINUTE)
    await sweepCanvases(system, Number.POSITIVE_INFINITY)
    for (const look of system.messages.canvasLooks.splice(0))
      await driveCanvas(system, look, system.clock.now() + MINUTE)
    await plan(system, ...late.splice(0))
    const after = (await startedLeaves(system, canvas)).length
    if (after === before && (await openLeaves(system, canvas)).length === 0) return
  }
}

it('a canvas ends as specified, whatever happens to the stream', async () => {
  await fc.assert(
    fc.asyncProperty(lives, async ({ form, failing, fates }) => {
      const system = await aCanvasWorld()
      const ends = (number: number): End => (failing[number % failing.length] ? 'failed' : 'succeeded')
      const expected = progressOf(modelOf(form), ends)

      const canvas = await published(
        fates[0] === 'dies' ? dyingAfter(system, 2) : system,
        written(form, failing),
      )
      await live(system, canvas, fates)

      expect((await shown(system, canvas)).status).toBe(expected.status)
      expect(await startedLeaves(system, canvas)).toEqual(expected.started.toSorted((a, b) => a - b))
    }),
    { numRuns: 150 },
  )
})
