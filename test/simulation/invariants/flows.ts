import type { ResumeAction } from '../../../shared/core/flow/resume.ts'
import type { FlowState, StepRecord } from '../../../shared/core/task/flow-state.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { type Invariant, onEachWrite, type Write } from './invariant.ts'
import { opensPiece } from './pieces.ts'

/** Promises about flows: the order of steps and of their undos, and how a flow ends. */
export const FLOW_INVARIANTS: readonly Invariant[] = [
  {
    name: 'steps are undone in falling order, and only those that have begun',
    watch: () => {
      /** Steps that a worker has claimed, or that an operator has recorded as done. */
      const begun = new Set<string>()
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          const { before, after } = event
          for (const at of stepsBegun(after)) begun.add(`${birthOf(after)} ${at}`)
          const at = undoBegunNow(before, after)
          if (at === undefined) return undefined
          if (!begun.has(`${birthOf(after)} ${at}`))
            return `step ${at} of ${after.id} is undone, although it never began`
          return outOfOrder(event, at)
        },
      }
    },
  },
  {
    name: 'each step is done once and undone once, until an operator resumes the flow',
    watch: () => {
      const recorded = new Map<string, Set<string>>()
      return {
        on: event => {
          if (event.what !== 'write' || !event.after.flow) return undefined
          const { before, after } = event
          const birth = birthOf(after)
          const known = (after.operation !== 'resume' && recorded.get(birth)) || new Set<string>()
          recorded.set(birth, known)
          const successes = successesNow(before, after)
          const unknown = successes.find(({ fence }) => !before?.live[fence])
          if (unknown) return `${after.id} advances by run ${unknown.fence}, which was not running`
          const twice = successes.find(({ piece }) => known.has(piece))
          if (twice) return `${after.id} records the success of '${twice.piece}' a second time`
          for (const { piece } of successes) known.add(piece)
          return undefined
        },
      }
    },
  },
  onEachWrite(
    'the cursor of a flow moves on step by step, and stays at the failed step',
    ({ before, after }) => {
      if (!after.flow || !before?.flow || before.born !== after.born || after.operation === 'update')
        return undefined
      const [from, to] = [before.flow.reachedStep, after.flow.reachedStep]
      const isDone = after.operation === 'succeed' && before.flow.direction === 'do'
      const mayMove = isDone || after.operation === 'resume'
      return from === to || (mayMove && to === from + 1)
        ? undefined
        : `${after.operation} moved the cursor of ${after.id} from ${from} to ${to}`
    },
  ),
  onEachWrite('an operator resumes a flow in the way that was asked for', ({ before, after }) => {
    const [from, to] = [before?.flow, after.flow]
    if (after.operation !== 'resume' || !from || !to) return undefined
    const action = after.operations?.at(-1)?.what
    return action === undefined || isResumedBy(action as ResumeAction, from, to)
      ? undefined
      : `${after.id} is not resumed by ${action}: step ${to.reachedStep} after ${from.reachedStep}, ${to.direction}`
  }),
  onEachWrite('the status of an ended flow follows from its steps', ({ before, after }) => {
    const hasEnded = after.state !== 'open' && after.state !== 'removed'
    if (!hasEnded || before?.state === after.state) return undefined
    const wrong = contradictionIn(after)
    return wrong && `${after.id} has ${after.state}, ${wrong}`
  }),
  onEachWrite('a failed run ends no undo but the one that it ran', ({ before, after }) => {
    if (after.operation !== 'fail' || before?.born !== after.born) return undefined
    const unbegun = Object.entries(after.flow?.steps ?? {}).find(
      ([at, { state }]) =>
        state === 'undo-failed' && !['undoing', 'undo-failed'].includes(before?.flow?.steps[at]?.state ?? ''),
    )
    return unbegun && `${after.id} has failed to undo step ${unbegun[0]}, which no run has tried to undo`
  }),
  {
    name: 'a flow ends as cancelled if and only if a caller has cancelled it since an operator last resumed its steps',
    watch: () => {
      const cancelled = new Set<string>()
      return {
        on: event => {
          if (event.what !== 'write' || !event.after.flow) return undefined
          const { after } = event
          const birth = birthOf(after)
          // A retried or skipped undo continues the cancellation.
          const resumesSteps = after.operation === 'resume' && event.after.flow.direction === 'do'
          if (resumesSteps) cancelled.delete(birth)
          if (after.operation === 'cancel') cancelled.add(birth)
          return hasEndedByUndo(event) ? otherEnd(after, cancelled.has(birth)) : undefined
        },
      }
    },
  },
  {
    name: 'all runs of a piece have the same idempotency key, and no other piece has it',
    watch: () => {
      const pieces = new Map<string, string>()
      const keys = new Map<string, string>()
      const rounds = createRounds()
      return {
        on: event => {
          if (event.what === 'write') rounds.see(event)
          if (event.what !== 'began') return undefined
          const { piece = '', idempotencyKey } = event
          const name = `${rounds.ofRun(event)} ${piece}`
          const isOwn = (pieces.get(idempotencyKey) ?? name) === name
          const isSame = (keys.get(name) ?? idempotencyKey) === idempotencyKey
          pieces.set(idempotencyKey, name)
          keys.set(name, idempotencyKey)
          return isOwn && isSame ? undefined : `${idempotencyKey} is not the one key of ${name}`
        },
      }
    },
  },
]

function isResumedBy(action: ResumeAction, from: FlowState, to: FlowState): boolean {
  const stateOf = ({ steps }: FlowState, state: string) =>
    Object.values(steps).filter(one => one.state === state)
  switch (action) {
    case 'continue':
      return to.steps[from.reachedStep]?.state === 'succeeded'
    case 'retry-do':
      return (
        to.reachedStep === from.reachedStep &&
        to.steps[from.reachedStep] === undefined &&
        to.direction === 'do'
      )
    case 'retry-undo':
      return to.direction === 'undo' && stateOf(to, 'skipped').length === stateOf(from, 'skipped').length
    case 'skip-undo':
      return stateOf(to, 'skipped').length === stateOf(from, 'skipped').length + 1
  }
}

function birthOf({ id, born }: Task): string {
  return `${id} ${born}`
}

type Run = { readonly id: string; readonly fence: number }

/** The birth and round of each run. A step that is done again after its undo is another piece of work. */
function createRounds() {
  const rounds = new Map<string, number>()
  const runs = new Map<string, string>()
  const nameOf = ({ id, fence }: Run) => `${id} ${fence}`
  return {
    see: (write: Write) => {
      const { after } = write
      const birth = birthOf(after)
      const round = (rounds.get(birth) ?? 1) + Number(redoesUndoneStep(write))
      rounds.set(birth, round)
      if (after.operation === 'claim') runs.set(nameOf(after), `${birth} ${round}`)
    },
    ofRun: (run: Run) => runs.get(nameOf(run)),
  }
}

/** Whether an operator continues the flow although its failed step was undone. */
function redoesUndoneStep({ before, after }: Write): boolean {
  const isAgain = after.operation === 'resume' && after.flow?.direction === 'do' && after.state === 'open'
  const state = before?.flow?.steps[before.flow.reachedStep]?.state
  return isAgain && (state === 'undone' || state === 'skipped')
}

/** Steps that a write shows to have begun. An operator may record a step as done that no worker has claimed. */
function stepsBegun({ flow, operation }: Task): number[] {
  if (operation === 'claim') return flow?.direction === 'do' ? [flow.presentStep] : []
  if (operation !== 'resume') return []
  return Object.entries(flow?.steps ?? {}).flatMap(([at, { state }]) =>
    state === 'succeeded' ? [Number(at)] : [],
  )
}

/** The step whose undo a write opens. */
function undoBegunNow(before: Task | undefined, after: Task): number | undefined {
  const { flow, state } = after
  const isUndo = flow?.direction === 'undo' && state === 'open'
  return isUndo && opensPiece(before, after) ? flow.presentStep : undefined
}

function outOfOrder({ before, after }: Write, at: number): string | undefined {
  const { flow } = before ?? {}
  const last = flow?.direction === 'undo' ? flow.presentStep : (after.flow?.reachedStep ?? 0) + 1
  const isAgain = after.operation === 'resume' && at === last
  return at < last || isAgain ? undefined : `step ${at} of ${after.id} is undone after step ${last}`
}

/** The runs whose success this write records as a step that is done or undone. */
function successesNow(before: Task | undefined, after: Task): { piece: string; fence: number }[] {
  const past = before?.born === after.born ? (before.flow?.steps ?? {}) : {}
  return Object.entries(after.flow?.steps ?? {}).flatMap(([at, record]) =>
    (['do', 'undo'] as const).flatMap(direction => {
      const fence = record[direction]?.fence
      const isNew = fence !== undefined && fence !== past[at]?.[direction]?.fence
      return isNew ? [{ piece: `${direction} ${at}`, fence }] : []
    }),
  )
}

/** How the steps contradict the flow's end. */
function contradictionIn({ state, flow }: Task): string | undefined {
  if (!flow) return undefined
  const states = flow.definition.steps.map((_step, at) => flow.steps[at]?.state ?? 'pending')
  if (state === 'succeeded') {
    const open = states.findIndex(one => one !== 'succeeded')
    return open < 0 ? undefined : `but step ${open} is ${states[open]}`
  }
  if (states.includes('undo-failed'))
    return state === 'failed' ? undefined : 'but an undo has failed for good'
  return state === 'cancelled' && flow.definition.onCancel === 'leave' ? undefined : whatWasLeft(state, flow)
}

function whatWasLeft(
  state: Task['state'],
  { definition, steps, reachedStep: cursor }: FlowState,
): string | undefined {
  const left = definition.steps.findIndex(({ undo }, at) => undo && isLeftDone(steps[at]))
  if (left >= 0) return `but step ${left} was not undone`
  const end = steps[cursor]?.state ?? 'pending'
  const mayEndThere = state === 'cancelled' || ['failed', 'undone', 'skipped'].includes(end)
  return mayEndThere ? undefined : `but its present step ${cursor} is ${end}`
}

/** Whether a step has begun and was neither undone nor skipped by an operator. */
function isLeftDone(record: StepRecord | undefined): boolean {
  return record?.do.startedAt !== undefined && record.state !== 'undone' && record.state !== 'skipped'
}

/** Whether a write ended a flow that was undoing its steps. */
function hasEndedByUndo({ before, after }: Write): boolean {
  const wasUndoing = before?.state === 'open' && before.flow?.direction === 'undo'
  return wasUndoing && after.state !== 'open' && after.state !== 'removed'
}

/** The end of an undone flow, if it is not the one that follows from whether it was cancelled. */
function otherEnd({ id, state, flow }: Task, wasCancelled: boolean): string | undefined {
  const wasHalted = Object.values(flow?.steps ?? {}).some(step => step.state === 'undo-failed')
  const expected = wasCancelled && !wasHalted ? 'cancelled' : 'failed'
  return state === expected ? undefined : `${id} ends as ${state} instead of ${expected}`
}
