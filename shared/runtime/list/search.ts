import { KEY_CHARACTERS_MAX } from '../../core/bounds.ts'
import { isGone } from '../../core/publish.ts'
import { splitTaskId, type Task, taskId } from '../../core/task/task.ts'
import type { TaskType } from '../../core/types/task-type.ts'
import { hash32, isName } from '../../core/values/text.ts'
import { defined, type FieldProblem } from '../../core/values/values.ts'
import { readTasksInOrder } from '../kernel/heads.ts'
import type { System } from '../kernel/system.ts'
import { allTypes } from '../types/types.ts'
import { type ListAnswer, listTasks } from './list.ts'
import { cursorOf, isLabelled, jsonIn } from './list-query.ts'

/**
 * A search looks for tasks by one text. First come the exact ones: by id, by key in every type, and by user. They are read by their keys
 * and from the index of users, so their cost does not depend on how many tasks exist. Then come tasks with such a tag or such an error. No
 * index has these, so the tasks of one type after the other are read, the latest first, a bounded number for each page.
 */

type Match = 'id' | 'key' | 'user' | 'tag' | 'error'

type Found = { readonly task: Task; readonly match: Match }

export type SearchAnswer =
  | {
      readonly ok: true
      readonly found: readonly Found[]
      /** How many tasks the page has read, whether they fit or not. */
      readonly examined: number
      /** The type whose tasks the next page reads. */
      readonly reached?: string
      readonly nextCursor?: string
    }
  | { readonly ok: false; readonly problem: FieldProblem }

type SearchQuery = { readonly text: string; readonly limit: number; readonly cursor?: string }

/** Where a page begins: at an exact match, in the list of the user, or in the list of a type. */
type Position =
  | { readonly at: 'exact'; readonly from: number }
  | { readonly at: 'user' | `type:${string}`; readonly cursor?: string }

/** One page reads the tasks of at most this many types. Each costs a request for each partition, even without tasks. */
const TYPES_MAX = 10
/** A page begins no further type after this many tasks. */
const EXAMINED_TASKS_MAX = 1_000

/** Searches one page. It may be short or empty, and its cursor still leads to the rest. */
export async function searchTasks(system: System, query: SearchQuery): Promise<SearchAnswer> {
  const position = query.cursor === undefined ? START : positionIn(query.text, query.cursor)
  if (!position) return { ok: false, problem: { path: 'cursor', message: FOREIGN_CURSOR } }
  const types = await allTypes(system)
  return position.at === 'exact'
    ? searchExactly(system, query, types, position.from)
    : searchOn(system, query, types, position)
}

const FOREIGN_CURSOR = 'is not a cursor of this search: pass nextCursor with the same q'
const START: Position = { at: 'exact', from: 0 }

/** The tasks with this id or key. If there are none, the page has the tasks of the user, and so on. */
async function searchExactly(
  system: System,
  query: SearchQuery,
  types: readonly TaskType[],
  from: number,
): Promise<SearchAnswer> {
  const { text, limit } = query
  const isKey = isName(text, KEY_CHARACTERS_MAX)
  const ids = [
    ...(splitTaskId(text) ? [text] : []),
    ...(isKey ? types.map(({ type }) => taskId(type, text)) : []),
  ]
  const tasks = (await readTasksInOrder(system, ids)).filter(task => !isGone(task, system.clock.now()))
  const found = tasks.map((task): Found => ({ task, match: task.id === text ? 'id' : 'key' }))
  if (found.length === 0) return searchOn(system, query, types, { at: 'user' })
  const page = found.slice(from, from + limit)
  const next: Position = from + limit < found.length ? { at: 'exact', from: from + limit } : { at: 'user' }
  return { ok: true, found: page, examined: ids.length, nextCursor: cursorAt(text, next) }
}

/** The tasks of the user. If there are none, the page has the tasks with such a tag or error. */
async function searchOn(
  system: System,
  query: SearchQuery,
  types: readonly TaskType[],
  { at, cursor }: Exclude<Position, { at: 'exact' }>,
): Promise<SearchAnswer> {
  if (at !== 'user') return searchTexts(system, query, types, { type: at.slice('type:'.length), cursor })
  const first = types[0]
  const ofUser = { userId: query.text, order: '-created' as const, types: [] }
  const listed = isName(query.text, KEY_CHARACTERS_MAX)
    ? await listTasks(system, { ...ofUser, statuses: [], limit: query.limit, ...defined({ cursor }) })
    : NOTHING
  if (!listed.ok) return listed
  const { tasks, nextCursor: rest } = listed
  const next: Position | undefined =
    rest !== undefined ? { at, cursor: rest } : first && { at: `type:${first.type}` }
  if (tasks.length === 0 && rest === undefined) return searchTexts(system, query, types, { type: '' })
  const found = tasks.map((task): Found => ({ task, match: 'user' }))
  return { ok: true, found, examined: tasks.length, ...reachedAt(query.text, next) }
}

const NOTHING: ListAnswer = { ok: true, tasks: [] }

/** The tasks with such a tag or error, type by type, until the page is full or has read enough. */
async function searchTexts(
  system: System,
  { text, limit }: SearchQuery,
  types: readonly TaskType[],
  from: { readonly type: string; readonly cursor?: string | undefined },
): Promise<SearchAnswer> {
  const found: Found[] = []
  let examined = 0
  let cursor = from.cursor
  const left = types.filter(({ type }) => type >= from.type)
  for (const [index, type] of left.entries()) {
    if (index >= TYPES_MAX || examined >= EXAMINED_TASKS_MAX || found.length >= limit)
      return { ok: true, found, examined, ...reachedAt(text, { at: `type:${type.type}` }) }
    const query = { types: [type], statuses: [], order: '-ended' as const, text, limit: limit - found.length }
    const listed = await listTasks(system, {
      ...query,
      ...(type.type === from.type && defined({ cursor })),
    })
    if (!listed.ok) return listed
    examined += listed.examined ?? 0
    const others = listed.tasks.filter(({ id, key, userId }) => ![id, key, userId].includes(text))
    found.push(...others.map((task): Found => ({ task, match: isLabelled(task, text) ? 'tag' : 'error' })))
    cursor = listed.nextCursor
    if (cursor !== undefined)
      return { ok: true, found, examined, ...reachedAt(text, { at: `type:${type.type}`, cursor }) }
  }
  return { ok: true, found, examined }
}

function reachedAt(
  text: string,
  next: Position | undefined,
): { readonly reached?: string; readonly nextCursor?: string } {
  if (!next) return {}
  const isType = next.at.startsWith('type:')
  return { ...(isType && { reached: next.at.slice('type:'.length) }), nextCursor: cursorAt(text, next) }
}

/** The cursor is valid for this text only. */
function cursorAt(text: string, position: Position): string {
  return cursorOf({ ...position, of: hash32(text) })
}

function positionIn(text: string, cursor: string): Position | undefined {
  const { at, from, cursor: inner, of } = Object(jsonIn(cursor))
  if (of !== hash32(text)) return undefined
  if (at === 'exact') return Number.isSafeInteger(from) && from >= 0 ? { at, from } : undefined
  const isAt = at === 'user' || (typeof at === 'string' && at.startsWith('type:'))
  const isPosition = isAt && (inner === undefined || typeof inner === 'string')
  return isPosition ? { at, ...defined({ cursor: inner }) } : undefined
}
