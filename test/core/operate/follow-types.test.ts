import { describe, expect, it } from 'vitest'
import { followTypes, typesFollowed } from '../../../shared/core/operate/follow-types.ts'
import { workOf } from '../../../shared/core/task/piece.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { TaskType, TypeConfiguration } from '../../../shared/core/types/task-type.ts'
import { aFlow, afterOf, aRun, aTask, NOW } from '../../support/tasks/a-task.ts'
import { aFlowTask, done } from '../../support/tasks/flow-life.ts'

type Parts = Partial<TypeConfiguration> & { readonly isFair?: true }

function typesOf(parts: Readonly<Record<string, Parts>>): Map<string, TaskType> {
  const times = { version: 1, createdAt: NOW, updatedAt: NOW }
  return new Map(
    Object.entries(parts).map(([type, { isFair, ...configuration }]) => [
      type,
      {
        ...{ type, paused: false, ...times },
        configuration: { kind: 'handler', defaults: {}, ...configuration },
        ...(isFair && { isFair }),
      },
    ]),
  )
}

const followed = (task: Task, types: Readonly<Record<string, Parts>>) =>
  afterOf(followTypes(task, typesOf(types), NOW))

describe('a task follows its type', () => {
  const overHttp = aTask({ kind: 'http', ordering: 'priority' })

  it.each<[string, Task, Parts, Partial<Task>]>([
    ['from HTTP to a handler', overHttp, {}, { kind: 'handler', ordering: 'arrival' }],
    ['to a handler with the same order', overHttp, { ordering: 'priority' }, { kind: 'handler' }],
    ['from a handler to HTTP', aTask(), { kind: 'http' }, { kind: 'http', ordering: 'priority' }],
    ['to a webhook', aTask(), { kind: 'webhook' }, { kind: 'webhook', ordering: 'arrival' }],
    ['to another order', aTask(), { ordering: 'aged' }, { kind: 'handler', ordering: 'aged' }],
    ['to tenants that take turns', aTask(), { isFair: true }, { isFair: true }],
  ])('%s', (_name, task, type, expected) => {
    const after = followed(task, { resize: type })

    expect(after).toMatchObject(expected)
    expect(followTypes(after, typesOf({ resize: type }), NOW)).toMatchObject({ reason: 'follows-already' })
  })

  it('out of the ready place of HTTP workers, and back', () => {
    const moved = followed(overHttp, { resize: {} })
    const back = followed(moved, { resize: { kind: 'http' } })

    expect([overHttp, moved, back].map(({ place }) => place?.name)).toEqual([
      'ready#resize#0',
      undefined,
      'ready#resize#0',
    ])
  })

  it('while it runs, and its run continues', () => {
    const running = aTask({ kind: 'http', ordering: 'priority', live: [aRun()] })

    expect(followed(running, { resize: {} })).toMatchObject({ kind: 'handler', live: running.live })
  })

  it.each([
    ['it has ended', aTask({ state: 'failed', finishedAt: NOW }), {}],
    ['its type is missing', overHttp, {}],
    ['its type has become a flow', aTask(), { resize: { kind: 'flow', steps: [] } }],
  ] as const)('but not where %s', (_name, task, types) => {
    expect(followTypes(task, typesOf(types), NOW).ok).toBe(false)
  })
})

describe('a flow follows the types of its steps', () => {
  const STEPS = { a: {}, b: {}, una: {}, unb: {} } satisfies Record<string, Parts>
  const flow = aFlow({
    steps: [
      { name: 'a', undo: {} },
      { name: 'b', undo: {} },
    ],
  })

  it('also at the steps to come and those to undo, under a definition of its own', () => {
    const task = aFlowTask(flow)

    const after = followed(task, { ...STEPS, b: { kind: 'http' }, una: { kind: 'http' } })

    const [first, second] = after.flow?.definition.steps ?? []
    expect([first?.do, first?.undo, second?.do, second?.undo].map(action => action?.kind)).toEqual([
      'handler',
      'http',
      'http',
      'handler',
    ])
    expect(after.flow?.definition.name).not.toBe(task.flow?.definition.name)
    expect(workOf(done(after))).toMatchObject({ type: 'b', kind: 'http', ordering: 'priority' })
    expect(done(after).place?.name).toMatch(/^ready#b#/)
  })

  it('but not where all are as they were, or have become flows', () => {
    const steps = { ...STEPS, b: { kind: 'flow' as const } }

    expect(followTypes(aFlowTask(flow), typesOf(steps), NOW)).toMatchObject({ reason: 'follows-already' })
  })

  it('and names them all', () => {
    expect(typesFollowed(aFlowTask(flow))).toEqual(['order', 'a', 'una', 'b', 'unb'])
  })
})
