import { editorAt } from '../../actors/steps.ts'
import type { Invariant, Write } from '../invariant.ts'

/** Promises about changes that name the revision they were decided on (`ifRevision`). */
export const EDIT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'an accepted change that names a revision was made to a task of that revision',
    watch: ({ steps }) => {
      if (!steps.some(step => step.do === 'edit')) return {}
      /** The revisions that each editor's writes found. An editor without an answer repeats its request. */
      const found = new Map<string, Set<number>>()
      const see = ({ before, after }: Write) => {
        const by = after.operations?.at(-1)?.by
        if (by === undefined || before?.edits === after.edits) return
        found.set(by, (found.get(by) ?? new Set()).add(before?.edits ?? 0))
      }
      return {
        on: event => {
          if (event.what === 'write') see(event)
          if (event.what !== 'answer' || event.step.do !== 'edit' || !event.answer.ok) return undefined
          const { step, answer } = event
          const revisions = found.get(editorAt(step.at)) ?? new Set()
          return revisions.has(answer.seen ?? 0)
            ? undefined
            : `the edit of ${step.id} named revision ${answer.seen}, and changed revision ${[...revisions]}`
        },
      }
    },
  },
]
