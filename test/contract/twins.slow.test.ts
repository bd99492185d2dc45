import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Change } from '../../shared/core/change.ts'
import { indexKeys } from '../../shared/core/place/place.ts'
import { endedRuns, type Task } from '../../shared/core/task/task.ts'
import type { IndexRange, TaskStore } from '../../shared/ports/stores.ts'
import { readTask } from '../../shared/runtime/kernel/heads.ts'
import { aDynamo } from '../support/dynamo/a-dynamo.ts'
import { advance, decide, EMPTY_WORLD, type Step, steps, type World } from '../support/tasks/random-steps.ts'
import { aTaskStore } from '../support/worlds/memory-system.ts'

const dynamo = aDynamo()

/** A step that was decided on the task as it was `lag` writes ago. 0 is the present. */
type SeenStep = readonly [step: Step, lag: number]

const lag = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 4 }) },
)

/** Histories whose steps are usually decided on the present task, and sometimes on the task of a few writes ago. */
const histories: fc.Arbitrary<SeenStep[]> = fc
  .tuple(steps, fc.array(lag, { minLength: 61, maxLength: 61 }))
  .map(([all, lags]) => all.map((step, position) => [step, lags[position] ?? 0]))

/** What a store holds of one task: its head, its bodies, the records of its runs, its entries in every index. */
async function contents(tasks: TaskStore, id: string, ranges: readonly IndexRange[]) {
  const head = await readTask({ tasks }, id)
  const bodies = head ? [head.input, ...endedRuns(head).map(({ result }) => result)] : []
  const refs = bodies.flatMap(body => (body && 'ref' in body ? body.ref : []))
  return {
    head,
    bodies: await Promise.all(refs.map(ref => tasks.body(id, ref))),
    runs: head && (await tasks.runRecords(id, head.born, 100)),
    entries: await Promise.all(ranges.map(range => tasks.page({ ...range, limit: 10 }))),
  }
}

function rangesOf(task: Task): IndexRange[] {
  return Object.entries(indexKeys(task)).map(([index, key]) => ({
    index: index as IndexRange['index'],
    partition: key.partition,
  }))
}

/** Writes a change to both stores, which must return the same outcome. */
async function writtenToBoth(twins: readonly [TaskStore, TaskStore], change: Change<Task>): Promise<boolean> {
  const [first, second] = await Promise.all(twins.map(store => store.apply(change)))
  expect(second).toEqual(first)
  return first?.applied === true
}

async function play(twins: readonly [TaskStore, TaskStore], history: readonly SeenStep[]): Promise<void> {
  let world: World = EMPTY_WORLD
  const seen: Array<Task | undefined> = [undefined]
  const ranges = new Map<string, IndexRange>()
  for (const [step, lagging] of history) {
    const change = decide({ ...world, task: seen.at(-1 - lagging) }, step)
    const applied = change !== undefined && (await writtenToBoth(twins, change))
    world = advance(world, step, applied ? change : undefined)
    if (!applied || !change) continue
    for (const range of rangesOf(change.after)) ranges.set(`${range.index} ${range.partition}`, range)
    const task = await readTask({ tasks: twins[0] }, change.after.id)
    world = { ...world, task }
    seen.push(task)
  }
  const id = seen.at(-1)?.id ?? ''
  const [first, second] = await Promise.all(twins.map(store => contents(store, id, [...ranges.values()])))
  expect(second).toEqual(first)
  expect(first?.entries.map(page => page.entries)).toEqual(expectedEntries(first?.head, [...ranges.values()]))
}

/** The entries that each partition must have according to the head. */
function expectedEntries(head: Task | undefined, ranges: readonly IndexRange[]) {
  const keys = head ? indexKeys(head) : {}
  return ranges.map(({ index, partition }) => {
    const key = keys[index]
    return key?.partition === partition ? [{ id: head?.id, sort: key.sort }] : []
  })
}

it('memory and DynamoDB hold the same after any history, also with writers that decide on an old state', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async history => {
      const { tasks } = await dynamo.newStores()
      await play([aTaskStore(), tasks], history)
    }),
    { numRuns: 40 },
  )
})
