import { expect, it } from 'vitest'
import { headItem } from '../../../shared/aws/dynamo/head/items.ts'
import type { Change } from '../../../shared/core/change.ts'
import { definitionName } from '../../../shared/core/flow/flow.ts'
import { resume } from '../../../shared/core/flow/resume.ts'
import { cancel, recordCallbacksPublished, restart } from '../../../shared/core/operate/operate.ts'
import { resolveOptions } from '../../../shared/core/options.ts'
import { create } from '../../../shared/core/publish.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Outcome } from '../../../shared/core/run/run.ts'
import type { FlowDefinition } from '../../../shared/core/task/flow-state.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { readTask, readTasks } from '../../../shared/runtime/kernel/heads.ts'
import { goldenHeads } from '../../aws/dynamo/head/golden-heads.ts'
import {
  aFlow,
  aPublication,
  BORN,
  changeOf,
  HOUR,
  LATER_BORN,
  MINUTE,
  NOW,
  SECOND,
} from '../../support/tasks/a-task.ts'
import { DONE, failingFor } from '../../support/tasks/flow-life.ts'
import type { MakeStores } from '../task-store.ts'

type Parts = Parameters<typeof aPublication>[0]

/** Steps that differ in every member of a step. */
const limits = resolveOptions({
  timeoutMs: 7,
  deadlineMs: HOUR,
  leaseMs: 30_000,
  retry: { maxRetries: 1, delayMs: 0 },
})
const FLOW = aFlow({
  steps: [
    { name: 'réserve 1', do: { input: { deep: [null, 'é'] }, options: limits }, undo: { kind: 'webhook' } },
    {
      name: 'constructor',
      do: { kind: 'http', ordering: 'priority', shards: 3 },
      undo: { input: 0, options: limits },
    },
    { name: '2' },
  ],
})

function aPublished(parts: Parts = {}): Change<Task> {
  const publication = aPublication({ type: 'order', kind: 'flow', flow: FLOW, input: { sku: 'x' }, ...parts })
  return create(publication, undefined, NOW)
}

const claiming = (now: number) => (task: Task) => changeOf(claim(task, { workerId: 'w1' }, now))
const ending = (outcome: Outcome, now: number) => (task: Task) =>
  changeOf(finish(task, { born: BORN, fence: task.fence, ...outcome }, now, 0))
const ran = (outcome: Outcome, now: number) => [claiming(now), ending(outcome, now)]

const LATER = NOW + MINUTE
/** A history that sets every member of a flow's head: each direction, each end, long and short results, and errors. */
const LIFE: Array<(task: Task) => Change<Task>> = [
  ...ran(failingFor('once', false), NOW + SECOND),
  ...ran({ ...DONE, result: { small: 1 } }, NOW + 2 * SECOND),
  ...ran({ ...DONE, result: 'large'.repeat(100) }, NOW + 3 * SECOND),
  claiming(NOW + 4 * SECOND),
  task => changeOf(cancel(task, NOW + 5 * SECOND)),
  ...ran(DONE, LATER),
  ...ran(failingFor('bank closed'), LATER + SECOND),
  task => changeOf(recordCallbacksPublished(task, LATER + 2 * SECOND)),
  task => changeOf(resume(task, 'retry-undo', LATER + HOUR)),
  ...ran(failingFor('still closed'), LATER + HOUR),
  task => changeOf(recordCallbacksPublished(task, LATER + HOUR)),
  task => changeOf(resume(task, 'skip-undo', LATER + 2 * HOUR)),
]

export function flowsContract(makeStores: MakeStores): void {
  it('keeps the steps and the progress of a flow through its whole life', async () => {
    const { tasks } = await makeStores()
    const callbacks = { onSuccess: [], onError: [{ type: 'mail' }] }
    const published = aPublished({ callbacks, options: { deadlineMs: HOUR, retentionMs: HOUR } })
    let task = published.after
    const steps = [() => published, ...LIFE]

    for (const step of steps) {
      const change = step(task)
      const applied = await tasks.apply(change)

      expect(applied).toEqual({ applied: true, head: change.after })
      expect(await readTask({ tasks }, task.id)).toEqual(change.after)
      expect(await readTasks({ tasks }, [task.id])).toEqual([change.after])
      task = change.after
    }

    expect(task).toMatchObject({ state: 'cancelled' })
  })

  it('gives a flow that starts over the steps of its new definition', async () => {
    const { tasks } = await makeStores()
    const first = aPublished()
    const over = changeOf(cancel(first.after, NOW))
    const flow = aFlow({ steps: [{ name: 'other' }] })
    const publication = aPublication({ type: 'order', kind: 'flow', flow, born: LATER_BORN })
    const again = changeOf(restart(over.after, { publication, clean: [], keepInput: true }, NOW))

    for (const change of [first, over, again]) await tasks.apply(change)

    expect(await readTask({ tasks }, 'order:k1')).toEqual(again.after)
    expect(again.after.flow?.definition).toEqual(flow)
  })

  it('reads flows of many definitions side by side', async () => {
    const { tasks } = await makeStores()
    const changes = Array.from({ length: 30 }, (_, index) => {
      const definition = index % 2 === 0 ? FLOW : withSteps(index)
      return aPublished({ key: `k${index}`, flow: definition })
    })
    await Promise.all(changes.map(change => tasks.apply(change)))

    const heads = await readTasks(
      { tasks },
      changes.map(({ after }) => after.id),
    )

    const byId = (a: Task, b: Task) => (a.id < b.id ? -1 : 1)
    expect(heads.toSorted(byId)).toEqual(changes.map(({ after }) => after).toSorted(byId))
  })

  it('keeps every kind of head whole', async () => {
    const { tasks } = await makeStores()
    // Without those that expire: DynamoDB Local deletes them by the time of the machine.
    const kept = Object.values(goldenHeads()).filter(head => !('ttl' in headItem(head)))
    const heads = kept.map((head, nth) => ({ ...head, id: `${head.type}:${nth}`, key: `${nth}` }))

    for (const after of heads) {
      await tasks.apply({ before: undefined, after, guard: { kind: 'absent' }, bodies: [] })
      expect(await tasks.head(after.id)).toEqual(after)
    }

    expect(heads.length).toBeGreaterThan(40)
  })
}

function withSteps(count: number): FlowDefinition {
  const { name: _name, ...content } = aFlow({
    steps: Array.from({ length: count }, (_, index) => ({ name: `s${index}`, undo: {} })),
  })
  return { name: definitionName(content), ...content }
}
