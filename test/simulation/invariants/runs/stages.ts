import { type Invariant, onEachWrite } from '../invariant.ts'

/** Promises about tasks with stages that callers update or patch. */
export const STAGE_INVARIANTS: readonly Invariant[] = [
  onEachWrite('an update without a stage leaves a task in its stage', ({ before, after }) =>
    after.operation === 'update' && before?.stage !== undefined && after.stage === undefined
      ? `the update of ${after.id} took its stage ${before.stage} away`
      : undefined,
  ),
  onEachWrite(
    'a task that a caller moves to another stage begins it afresh, and keeps its failures otherwise',
    ({ before, after }) => {
      const isEdit = after.operation === 'update' || after.operation === 'patch'
      if (!isEdit || !before || before.flow || after.flow || after.state !== 'open') return undefined
      const isMoved = before.stage !== after.stage
      const expected = isMoved ? 0 : before.failures
      return after.failures === expected
        ? undefined
        : `${after.operation} left ${after.id} with ${after.failures} failures at stage ${after.stage}, not ${expected}`
    },
  ),
  onEachWrite(
    'a patch to another stage does not wait for a retry of the former stage',
    ({ before, after }) => {
      const isMoved = after.operation === 'patch' && before?.stage !== after.stage && after.state === 'open'
      const waitsOn = before?.retrying && after.dueAt === before.dueAt && after.dueAt > after.updatedAt
      return isMoved && waitsOn
        ? `${after.id} waits ${after.dueAt - after.updatedAt} ms for a retry of ${before.stage}`
        : undefined
    },
  ),
]
