import {
  CALLBACKS_MAX,
  CATCH_UP_TICKS_MAX,
  CRON_CHARACTERS_MAX,
  ERROR_FILTER_CHARACTERS_MAX,
  EVERY_MS_MIN,
  KEY_CHARACTERS_MAX,
  LIST_TYPES_MAX,
  SCHEDULE_GRACE_MS_MAX,
  SCHEDULE_GRACE_MS_MIN,
  TAG_FILTER_CHARACTERS_MAX,
  TAG_FILTERS_MAX,
  TYPE_CHARACTERS_MAX,
} from '../core/bounds.ts'
import type { FieldProblem } from '../core/errors.ts'
import { type Json, jsonProblem } from '../core/json.ts'
import { anything, listOf, objectOf, orNull, tagsRule } from '../core/rules/compound.ts'
import { optionRules, patchedOptionRules, priorityRule } from '../core/rules/options.ts'
import type { Rule } from '../core/rules/rules.ts'
import {
  duration,
  flag,
  name,
  oneOf,
  pathName,
  revisionRule,
  text,
  time,
  traceparentRule,
  whole,
} from '../core/rules/scalars.ts'
import { typeNameRule } from '../core/rules/type-configuration.ts'
import { STATUSES } from '../core/states.ts'

/**
 * The fields of publish bodies as rules, for callers that have no schema library. The HTTP API checks the same fields by its
 * schemas (`shared/api/publish.ts`), which are made of the same rules.
 */

const CANVAS_SENDS_AT_ONCE_MAX = 100
/** A canvas's id is its key behind `canvas:`. */
const CANVAS_PREFIX_CHARACTERS = 20
const PAGE_TASKS_MAX = 100
const CURSOR_CHARACTERS_MAX = 2_048

const memberFields = {
  input: anything<Json>('Any JSON'),
  userId: name(KEY_CHARACTERS_MAX),
  tags: tagsRule,
  dueAt: time,
  delayMs: duration(),
  priority: priorityRule,
  ...optionRules,
  traceparent: traceparentRule,
  stage: name(TYPE_CHARACTERS_MAX),
  immutable: flag(),
  fairnessKey: name(KEY_CHARACTERS_MAX),
}

/** Callbacks have callbacks, so the rule is made when it is needed. */
const callbacks: Rule<unknown[]> = {
  expected: `a list of 0–${CALLBACKS_MAX} members`,
  schema: { type: 'array', maxItems: CALLBACKS_MAX },
  problems: (value, path) => listOf(derivedRule, { max: CALLBACKS_MAX }).problems(value, path),
}

const leafFields = { ...memberFields, onSuccess: callbacks, onError: callbacks }

/** A task that another task publishes: a child, or a callback. */
const derivedRule = objectOf({ type: typeNameRule }, { ...leafFields, key: name(KEY_CHARACTERS_MAX) })

/** A member of a canvas, which gets its key from the canvas. */
const leafRule = objectOf({ type: typeNameRule }, leafFields)

const publishRule = objectOf(
  { type: typeNameRule },
  {
    ...leafFields,
    key: name(KEY_CHARACTERS_MAX),
    ifExists: oneOf('keep', 'update', 'reject', 'restart'),
    clean: listOf(oneOf('failed', 'succeeded'), { max: 2 }),
    debounce: objectOf({ ms: duration(1) }, { maxWaitMs: duration(1) }),
    throttle: objectOf({ perMs: duration(1) }, {}),
  },
)

const patchRule = objectOf(
  {},
  {
    dueAt: time,
    delayMs: duration(),
    input: anything<Json>('Any JSON'),
    stage: name(TYPE_CHARACTERS_MAX),
    tags: orNull(tagsRule),
    ifRevision: revisionRule,
    ...patchedOptionRules,
  },
)

const { dueAt: _dueAt, delayMs: _delayMs, ...tickFields } = leafFields

const scheduleRule = objectOf(
  { task: objectOf({ type: typeNameRule }, tickFields) },
  {
    cron: text('a cron expression', value => value.length <= CRON_CHARACTERS_MAX),
    everyMs: duration(EVERY_MS_MIN),
    at: time,
    timezone: text('the IANA name of a time zone', () => true),
    missed: missedRule(),
    graceMs: duration(SCHEDULE_GRACE_MS_MIN, SCHEDULE_GRACE_MS_MAX),
    ifRevision: revisionRule,
  },
)

/** What a schedule does about missed ticks: a word, or an object. */
function missedRule(): Rule<unknown> {
  const catchUp = objectOf({ catchUp: whole(1, CATCH_UP_TICKS_MAX) }, {})
  return {
    expected: `"skip" or {catchUp: n} with n from 1 to ${CATCH_UP_TICKS_MAX}`,
    schema: { anyOf: [{ const: 'skip' }, catchUp.schema] },
    problems: (value, path) =>
      typeof value === 'string' ? oneOf('skip').problems(value, path) : catchUp.problems(value, path),
  }
}

const canvasRule = objectOf(
  {},
  {
    key: pathName(KEY_CHARACTERS_MAX),
    userId: name(KEY_CHARACTERS_MAX),
    sendConcurrency: whole(1, CANVAS_SENDS_AT_ONCE_MAX),
  },
)

/** The filter of a list. The HTTP API checks the same fields as a query (`shared/api/tasks.ts`). */
const listRule = objectOf(
  {},
  {
    type: listOf(typeNameRule, { max: LIST_TYPES_MAX }),
    canvasId: name(KEY_CHARACTERS_MAX + CANVAS_PREFIX_CHARACTERS),
    userId: name(KEY_CHARACTERS_MAX),
    status: listOf(oneOf(...STATUSES), { max: STATUSES.length }),
    since: time,
    until: time,
    tag: listOf(
      text(
        'name:value, such as team:red',
        value => value.length <= TAG_FILTER_CHARACTERS_MAX && /^.+:/s.test(value),
      ),
      { max: TAG_FILTERS_MAX },
    ),
    error: name(ERROR_FILTER_CHARACTERS_MAX),
    order: oneOf('due', '-due', 'created', '-created', 'ended', '-ended'),
    limit: whole(1, PAGE_TASKS_MAX),
    cursor: text('the nextCursor of an earlier page', value => value.length <= CURSOR_CHARACTERS_MAX),
  },
)

const RULES = {
  publish: publishRule,
  list: listRule,
  derived: derivedRule,
  leaf: leafRule,
  canvas: canvasRule,
  patch: patchRule,
  schedule: scheduleRule,
}

/** The problems of a body field by field: wrong values, unknown fields, and values that JSON does not keep. */
export function bodyProblems(kind: keyof typeof RULES, body: unknown, at = ''): FieldProblem[] {
  const unstorable = jsonProblem(body, at)
  return unstorable ? [unstorable] : RULES[kind].problems(body, at)
}
