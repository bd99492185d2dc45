import type { Composition } from '../../../shared/core/canvas/tree.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Head } from '../../../shared/core/task/head.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { Json } from '../../../shared/core/values/values.ts'
import { type LeafRequest, type LoadedCanvas, memberId } from '../../../shared/runtime/canvas/canvas.ts'
import { type CanvasDescription, readCanvas } from '../../../shared/runtime/canvas/describe-canvas.ts'
import { publishCanvas } from '../../../shared/runtime/canvas/publish-canvas.ts'
import { contentOf } from '../../../shared/runtime/claim/claimed-task.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { planChanges } from '../../../shared/runtime/stream/stream.ts'
import { changeOf, taskIn } from '../tasks/a-task.ts'
import { aMemorySystem, type MemorySystem, registered } from './memory-system.ts'

export type Written = Composition<LeafRequest>

/** A system in memory with arithmetic and failing types. The test itself acts as the planner and the workers. */
export async function aCanvasWorld(parts: Partial<MemorySystem> = {}): Promise<MemorySystem> {
  const system = { ...aMemorySystem(), ...parts }
  for (const type of ['add', 'multiply', 'boom', 'tell', 'list']) {
    const defaults = { retry: { maxRetries: 0 } }
    await registered(system, { type, configuration: { kind: 'handler', shards: 1, defaults } })
  }
  return system
}

export function leaf(type: string, input?: Json, more: Partial<LeafRequest> = {}): Written {
  return { leaf: { type, ...(input !== undefined && { input }), ...more } }
}

export const add = (...numbers: number[]): Written => leaf('add', numbers)
export const multiply = (...numbers: number[]): Written => leaf('multiply', numbers)
export const boom: Written = leaf('boom')
export const tell = (...words: Json[]): Written => leaf('tell', words)

export async function published(
  system: MemorySystem,
  composition: Written,
  key = 'c',
): Promise<LoadedCanvas> {
  const outcome = await publishCanvas(system, { key, composition })
  if (!outcome.ok) throw new Error(`refused: ${JSON.stringify(outcome)}`)
  return outcome.canvas
}

export async function member(
  system: MemorySystem,
  canvas: LoadedCanvas,
  number: number,
): Promise<Task | undefined> {
  return readTask(system, memberId(canvas, number))
}

/** The leaves that have been published. */
export async function startedLeaves(system: MemorySystem, canvas: LoadedCanvas): Promise<number[]> {
  const heads = await Promise.all(canvas.types.map((_type, number) => member(system, canvas, number)))
  return heads.flatMap((head, number) => (head ? [number] : []))
}

/** Runs one member by the rule of its type. Returns the changed task, which the stream would bring to the planner. */
export async function run(system: MemorySystem, canvas: LoadedCanvas, number: number): Promise<Task> {
  const task = await member(system, canvas, number)
  if (!task) throw new Error(`leaf ${number} is not published`)
  const now = system.clock.now()
  const claimed = changeOf(claim(task, { workerId: 'w1' }, now)).after
  const { input } = await contentOf(system, claimed)
  const report = { born: claimed.born, fence: claimed.fence, ...outcomeOf(task.type, input) }
  const change = changeOf(finish(claimed, report, now, 0.5))
  // The claim and the end are one write, which only a test may do.
  const applied = await system.tasks.apply({
    ...change,
    before: task,
    guard: { kind: 'revision', born: task.born, revision: task.revision, leases: [] },
  })
  return taskIn(applied)
}

function outcomeOf(type: string, input: Json | undefined) {
  const numbers = (Array.isArray(input) ? input : []) as number[]
  switch (type) {
    case 'add':
      return { outcome: 'succeed', result: numbers.reduce((a, b) => a + b, 0) } as const
    case 'multiply':
      return { outcome: 'succeed', result: numbers.reduce((a, b) => a * b, 1) } as const
    case 'boom':
      return { outcome: 'fail', error: { name: 'Boom', message: 'no such luck' } } as const
    default:
      return { outcome: 'succeed', result: input ?? null } as const
  }
}

/** Gives the planner changed heads. Returns the positions that the stream must deliver again. */
export async function plan(system: MemorySystem, ...tasks: Array<Head | undefined>): Promise<string[]> {
  const existing = tasks.filter(task => task !== undefined)
  return planChanges(
    system,
    existing.map((task, index) => ({ task, position: String(index) })),
  )
}

/** Runs open members in batches of `batch`, until none is open. */
export async function runAll(system: MemorySystem, canvas: LoadedCanvas, batch = 1): Promise<void> {
  for (;;) {
    const heads = await Promise.all(canvas.types.map((_type, number) => member(system, canvas, number)))
    const open = heads.flatMap((head, number) =>
      head?.state === 'open' && !head.member?.first ? [number] : [],
    )
    if (open.length === 0) return
    const ended: Task[] = []
    for (const number of open.slice(0, batch)) ended.push(await run(system, canvas, number))
    await plan(system, ...ended)
  }
}

export async function shown(
  system: MemorySystem,
  canvas: LoadedCanvas,
  query: { limit: number; cursor?: string } = { limit: 100 },
): Promise<CanvasDescription> {
  const read = await readCanvas(system, canvas.id, query)
  if (!read.ok) throw new Error(read.reason)
  return read.canvas
}
