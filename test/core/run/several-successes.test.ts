import { describe, expect, it } from 'vitest'
import { LOOK_SLACK_MS } from '../../../shared/core/bounds.ts'
import { eventsOf } from '../../../shared/core/events/events.ts'
import { endOfComplete, finish, isComplete } from '../../../shared/core/run/finish.ts'
import type { Outcome } from '../../../shared/core/run/run.ts'
import { statusOf } from '../../../shared/core/status.ts'
import { successes, type Task } from '../../../shared/core/task/task.ts'
import { look, plan } from '../../../shared/core/wake.ts'
import type { TaskParts } from '../../support/tasks/a-task.ts'
import { aFlow, anEndedRun, aRun, aTask, changeOf, HOUR, NOW, SECOND } from '../../support/tasks/a-task.ts'

const LATER = NOW + 5 * SECOND
const SUCCEED: Outcome = { outcome: 'succeed', result: 1 }

const run = (fence: number) => aRun({ fence, workerId: `w${fence}` })
const success = (fence: number, endedAt = NOW) => anEndedRun({ fence, workerId: `w${fence}`, endedAt })
const ofTwo = (parts: TaskParts) => aTask({ kind: 'http', options: { concurrency: 2 }, ...parts })
const finished = (task: Task, word: Outcome, more = {}) =>
  changeOf(finish(task, { born: task.born, fence: 1, ...word }, LATER, 0, more))

/** A task that has all its successes and whose end is not written. */
const aComplete = (parts: TaskParts = {}) =>
  ofTwo({ ended: [success(1), success(2, LATER)], updatedAt: LATER, operation: 'succeed', ...parts })

describe('a success among several', () => {
  it('that is not the last one needed is guarded by its run alone, and changes nothing else', () => {
    const task = ofTwo({ live: [run(1), run(2)] })

    const { after, guard } = finished(task, SUCCEED)

    expect(guard).toEqual({ kind: 'counted', born: task.born, fence: 1 })
    expect(after).toEqual({
      ...task,
      ...{ operation: 'succeed', revision: task.revision + 1, updatedAt: LATER },
      live: { 2: run(2) },
      ended: { 1: { ...success(1, LATER), result: { inline: 1 } } },
    })
  })

  it.each<[string, TaskParts, Outcome, object]>([
    ['is the last one as far as its worker sees', { live: [run(1)], ended: [success(2)] }, SUCCEED, {}],
    ['names the next stage', { live: [run(1), run(2)] }, { ...SUCCEED, next: { stage: 'two' } }, {}],
    ['may not be counted', { live: [run(1), run(2)] }, SUCCEED, { mayCount: false }],
    ['ends a wait for a limit', { live: [run(1)], wait: { kind: 'permit', limit: 'a' } }, SUCCEED, {}],
    [
      'moves the task out of its place',
      { kind: 'handler', live: [run(1)], place: { name: 'running#resize#0', order: '1' } },
      SUCCEED,
      {},
    ],
  ])('that %s is guarded by the revision', (_name, parts, word, more) => {
    const { guard } = finished(ofTwo(parts), word, more)

    expect(guard.kind).toBe('revision')
  })
})

describe('a complete task, whose end is not written yet', () => {
  it('has all its successes and no written end; canvases and schedules are never complete', () => {
    expect(isComplete(aComplete())).toBe(true)
    expect(isComplete(ofTwo({ ended: [success(1)] }))).toBe(false)
    expect(isComplete(aComplete({ state: 'succeeded' }))).toBe(false)
    expect(isComplete(aTask({}))).toBe(false)
  })

  it('has the same end, at the time of its last success, whichever process writes the end at any time', () => {
    const end = endOfComplete(aComplete({ live: [] }))

    expect(end?.guard).toEqual({ kind: 'revision', born: aComplete().born, revision: 1, leases: [] })
    expect(end?.after).toMatchObject({ state: 'succeeded', finishedAt: LATER, updatedAt: LATER, revision: 2 })
    expect(end?.after).not.toHaveProperty('place')
  })

  it('of a flow continues to the next step', () => {
    const definition = aFlow()
    const flow = {
      ...{ definition, reachedStep: 0, presentStep: 0, direction: 'do' as const },
      steps: { 0: { state: 'running' as const, do: { attempts: 0, startedAt: NOW } } },
    }

    const end = endOfComplete(aComplete({ kind: 'flow', flow }))

    expect(end?.after.flow).toMatchObject({
      presentStep: 1,
      steps: { 0: { state: 'succeeded', do: { fence: 2 } } },
    })
    expect(successes(end?.after as Task)).toEqual([])
  })

  it('has the status running, and is reported as neither ready nor ended', () => {
    expect(statusOf(aComplete(), LATER)).toBe('running')
    expect(eventsOf(aComplete())).toEqual([])
  })

  it('is reported as ended with the run that completed it', () => {
    const end = endOfComplete(aComplete())

    expect(eventsOf(end?.after as Task)).toMatchObject([
      { type: 'task.succeeded', runId: `${aComplete().born}.2`, at: LATER },
    ])
  })

  it('gets a look at once, in case its worker has died, and no dispatch', () => {
    expect(plan(aComplete(), LATER)).toEqual({ lookAt: LATER + LOOK_SLACK_MS })
  })
})

describe('a task that its last run left in the place of running ones', () => {
  const outstayed = () =>
    aTask({
      ...{ options: { concurrency: 2 }, ended: [success(1)], operation: 'succeed' as const },
      place: { name: 'running#resize#0', order: '1' },
    })
  // The builder computes the place again, as every transition but a counted success does.
  const task = { ...outstayed(), place: { name: 'running#resize#0', order: '1' } }

  it('gets a look, and leaves that place', () => {
    const change = changeOf(look(task, NOW + HOUR, 0))

    expect(plan(task, NOW).lookAt).toBe(NOW + LOOK_SLACK_MS)
    expect(change.after).toMatchObject({ operation: 'surface', state: 'open' })
    expect(change.after).not.toHaveProperty('place')
  })

  it('is reported as ready once, when it has left that place', () => {
    expect(eventsOf(task)).toEqual([])
    expect(eventsOf(changeOf(look(task, NOW, 0)).after)).toMatchObject([{ type: 'task.ready' }])
  })
})
