import type { SourceFault } from '../source-fault.ts'

/** Faults in publishes, callbacks, canvases and changes by callers. */
export const PUBLISHING_FAULTS: readonly SourceFault[] = [
  {
    name: 'an update without a stage takes the stage of its task away',
    needs: 'after-runs',
    replacements: [
      {
        path: 'shared/core/publish.ts',
        old: 'return former === undefined ? draft : { ...draft, stage: former }',
        new: 'return draft',
      },
    ],
  },
  {
    name: 'a patch to another stage keeps the failures of the former one',
    replacements: [
      {
        path: 'shared/core/operate/patch.ts',
        old: 'return openStage(draft, { stage, dueAt }, now)',
        new: 'return { ...draft, stage, dueAt }',
      },
    ],
  },
  {
    name: 'a patch to another stage waits for a retry of the former one',
    replacements: [
      {
        path: 'shared/core/operate/patch.ts',
        old: 'draft.retrying ? Math.min(draft.dueAt, now) : draft.dueAt',
        new: 'draft.dueAt',
      },
    ],
  },
  {
    name: 'a head that owes callbacks may be deleted, and replaced',
    replacements: [
      {
        path: 'shared/core/task/head.ts',
        old: 'if (expiresAt === undefined || owes) return undefined',
        new: 'if (expiresAt === undefined) return undefined',
      },
      {
        path: 'shared/core/publish.ts',
        old: 'head.expiresAt <= now && !head.owes',
        new: 'head.expiresAt <= now',
      },
    ],
  },
  {
    name: 'refused callbacks count as published',
    replacements: [
      {
        path: 'shared/runtime/plan/publish-callbacks.ts',
        old: 'if (refused.length === 0) return undefined',
        new: 'if (refused.length >= 0) return undefined',
      },
    ],
  },
  {
    name: 'the keys of callbacks do not tell two ends of one birth apart',
    needs: 'control',
    replacements: [
      {
        path: 'shared/runtime/plan/publish-callbacks.ts',
        old: '?? task.revision\n  const causedBy',
        new: '&& 0\n  const causedBy',
      },
    ],
  },
  {
    name: 'fences follow the clock alone',
    replacements: [
      {
        path: 'shared/core/operate/operate.ts',
        old: 'fence: Math.max(task.fence, firstFence(now)),',
        new: 'fence: firstFence(now),',
      },
      {
        path: 'shared/core/change.ts',
        old: 'const fence = Math.max(remains?.fence ?? 0, firstFence(now))',
        new: 'const fence = firstFence(now)',
      },
    ],
  },
  {
    name: 'a debounced task can be put off for ever',
    replacements: [
      {
        path: 'shared/runtime/publish/decide-publish.ts',
        old: 'const latest = maxWaitMs === undefined ? Number.POSITIVE_INFINITY : current.createdAt + maxWaitMs',
        new: 'const latest = maxWaitMs === undefined ? Number.POSITIVE_INFINITY : Number.POSITIVE_INFINITY',
      },
    ],
  },
  {
    name: 'a debounced publish is dropped while the task of its key runs',
    needs: 'coalesced',
    replacements: [
      {
        path: 'shared/runtime/publish/decide-publish.ts',
        old: 'return updated.ok ? outcomeOf(updated) : { ok: false }',
        new: 'return outcomeOf(updated)',
      },
    ],
  },
  {
    name: 'a throttled key begins anew as soon as its task has ended',
    replacements: [
      {
        path: 'shared/runtime/publish/decide-publish.ts',
        old: "if (current.state === 'open' || now < current.createdAt + perMs) return UNCHANGED",
        new: "if (current.state === 'open') return UNCHANGED",
      },
    ],
  },
  {
    name: 'a change that names an old revision is accepted',
    replacements: [
      {
        path: 'shared/core/change.ts',
        old: 'return ifRevision !== undefined && ifRevision !== editsOf(present ?? {})',
        new: 'return ifRevision !== undefined && ifRevision > editsOf(present ?? {})',
      },
    ],
  },
  {
    name: 'a member of a canvas counts by its last end, not by its first',
    replacements: [
      {
        path: 'shared/core/task/head-fields.ts',
        old: 'if (member.first) return { member, end: member.first }\n',
        new: '',
      },
    ],
  },
  {
    name: 'a callback restarts the task of its key again when it is tried again',
    replacements: [
      {
        path: 'shared/runtime/plan/publish-callbacks.ts',
        old: ': { causedBy }),',
        new: ': {}),',
      },
    ],
  },
]
