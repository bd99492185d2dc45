import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Change } from '../../../shared/core/change.ts'
import { type ResumeAction, resume } from '../../../shared/core/flow/resume.ts'
import { cancel } from '../../../shared/core/operate/operate.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { statusOf } from '../../../shared/core/status.ts'
import type { FlowState, StepRecord } from '../../../shared/core/task/flow-state.ts'
import { liveRuns, needsAttention, type Task } from '../../../shared/core/task/task.ts'
import { look } from '../../../shared/core/wake.ts'
import { aFlow, BORN, changeIn, HOUR, MINUTE, NOW, SECOND } from '../../support/tasks/a-task.ts'
import { aFlowTask, DONE, failingFor, statesOf } from '../../support/tasks/flow-life.ts'
import { nextWake } from '../../support/tasks/next-wake.ts'

/** The events in a flow's life. */
type Happening =
  | 'claim'
  | 'succeed'
  | 'fail'
  | 'fail for good'
  | 'release'
  | 'look'
  | 'cancel'
  | 'wait'
  | ResumeAction

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom<Happening>('claim', 'succeed') },
  { weight: 4, arbitrary: fc.constantFrom<Happening>('fail', 'fail for good', 'release') },
  { weight: 3, arbitrary: fc.constantFrom<Happening>('look', 'wait') },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Happening>('cancel', 'retry-do', 'continue', 'retry-undo', 'skip-undo'),
  },
)

const flow = fc.record({
  steps: fc
    .array(fc.boolean(), { minLength: 1, maxLength: 4 })
    .map(undoable => undoable.map((can, at) => ({ name: `s${at}`, ...(can && { undo: {} }) }))),
  onCancel: fc.constantFrom('undo' as const, 'leave' as const),
})

const life = fc.record({
  flow: flow.map(aFlow),
  options: fc.constantFrom({}, {}, { deadlineMs: MINUTE }),
  happenings: fc.array(happening, { minLength: 20, maxLength: 80, size: 'max' }),
})

type Seen = {
  readonly change: Change<Task>
  readonly before: FlowState
  readonly after: FlowState
  readonly now: number
}

function decided(task: Task, what: Happening, now: number): Change<Task> | undefined {
  const word = { born: BORN, fence: task.fence }
  switch (what) {
    case 'claim':
      return changeIn(claim(task, { workerId: 'w1' }, now))
    case 'succeed':
      return changeIn(finish(task, { ...word, ...DONE }, now, 0))
    case 'fail':
    case 'fail for good':
      return changeIn(finish(task, { ...word, ...failingFor('no', what === 'fail for good') }, now, 0))
    case 'release':
      return changeIn(finish(task, { ...word, outcome: 'release' }, now, 0))
    case 'look':
      return changeIn(look(task, now, 0))
    case 'cancel':
      return changeIn(cancel(task, now))
    case 'wait':
      return undefined
    default:
      return changeIn(resume(task, what, now))
  }
}

/** Checks an assertion on every change of many random lives of random flows. */
function forEveryChange(claimAbout: () => (seen: Seen) => void): void {
  const property = fc.property(life, ({ flow, options, happenings }) => {
    const hold = claimAbout()
    let now = NOW
    let task = aFlowTask(flow, { options })
    for (const what of happenings) {
      const waited = what === 'wait' ? Math.max(now + 20 * SECOND, nextWake(task, now) ?? 0) : now
      now = Math.min(waited, NOW + 24 * HOUR)
      const change = decided(task, what, now)
      const [before, after] = [task.flow, change?.after.flow]
      if (change && before && after) hold({ change, before, after, now })
      task = change?.after ?? task
    }
  })
  fc.assert(property, { numRuns: 150 })
}

const isUndoing = ({ direction }: FlowState) => direction === 'undo'

it('steps are undone strictly backwards, each at most once until an operator resumes the flow', () => {
  forEveryChange(() => {
    let last = Number.POSITIVE_INFINITY
    return ({ change: { after: task }, before, after }) => {
      const isTakenUp = task.operation === 'resume'
      if (isTakenUp || !isUndoing(after)) last = Number.POSITIVE_INFINITY
      if (task.state !== 'open' || !isUndoing(after)) return
      const isOpened = isTakenUp || !isUndoing(before) || after.presentStep !== before.presentStep
      if (isOpened) expect(after.presentStep).toBeLessThan(last)
      last = after.presentStep
    }
  })
})

it('only steps that began are undone, and none twice', () => {
  forEveryChange(() => ({ change, before, after }) => {
    if (change.after.state !== 'open' || !isUndoing(after)) return
    const record = after.steps[after.presentStep]
    expect(record?.do.startedAt).toBeTypeOf('number')
    expect(['undone', 'skipped']).not.toContain(record?.state)
    for (const [at, { state }] of Object.entries(before.steps)) {
      if (state === 'undone' || state === 'skipped') expect(after.steps[at]?.state).toBe(state)
    }
  })
})

it('the reached step moves on by one at a time, and stays at the failed step', () => {
  forEveryChange(() => ({ before, after }) => {
    if (isUndoing(after)) expect(after.reachedStep).toBe(before.reachedStep)
    else expect([before.reachedStep, before.reachedStep + 1]).toContain(after.reachedStep)
    if (!isUndoing(after)) expect(after.presentStep).toBe(after.reachedStep)
  })
})

it('while steps are done, all steps before the present one are done, and no later one has begun', () => {
  forEveryChange(() => ({ change, after }) => {
    if (change.after.state !== 'open' || isUndoing(after)) return
    for (let at = 0; at < after.reachedStep; at++) expect(after.steps[at]?.state).toBe('succeeded')
    const later = Object.keys(after.steps).filter(at => Number(at) > after.reachedStep)
    expect(later).toEqual([])
  })
})

it('the view shows the status, and the options are the ones of the present piece', () => {
  forEveryChange(() => ({ change: { after: task }, after, now }) => {
    const status = statusOf(task, now)
    const bucket = ['delayed', 'ready', 'running'].includes(status) ? 'open' : status
    expect(task.view?.bucket).toBe(bucket)
    const action = after.definition.steps[after.presentStep]?.[after.direction]
    expect(task.options).toEqual({ ...action?.options, retentionMs: task.options.retentionMs })
  })
})

it('the end of a flow agrees with the states of its steps', () => {
  forEveryChange(() => ({ change: { after: task }, after }) => {
    if (task.state === 'open') return
    const states = statesOf(task)
    for (const unfinished of ['running', 'undoing']) expect(states).not.toContain(unfinished)
    expect(liveRuns(task)).toEqual([])
    if (task.state === 'succeeded') expect(new Set(states)).toEqual(new Set(['succeeded']))
    else if (!isLeftAsItIs(task, after)) expect(standing(after)).toEqual([])
  })
})

function isLeftAsItIs(task: Task, { definition }: FlowState): boolean {
  return needsAttention(task) || (task.state === 'cancelled' && definition.onCancel === 'leave')
}

/** The steps that began, can be undone, and are not undone. */
function standing({ definition, steps }: FlowState): string[] {
  const isStanding = (record: StepRecord | undefined) =>
    record?.do.startedAt !== undefined && record.state !== 'undone' && record.state !== 'skipped'
  return definition.steps.filter(({ undo }, at) => undo && isStanding(steps[at])).map(({ name }) => name)
}

it('a piece begins with no failure, no success and a budget of its own', () => {
  forEveryChange(() => ({ change: { before, after }, before: from, after: to }) => {
    const isNewPiece = from.presentStep !== to.presentStep || from.direction !== to.direction
    if (!before || after.state !== 'open' || !isNewPiece) return
    expect(after).toMatchObject({ failures: 0, failuresBy: {}, live: {}, retrying: false })
    expect(Object.values(after.ended).filter(run => run.state === 'succeeded')).toEqual([])
  })
})
