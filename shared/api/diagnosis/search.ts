import { KEY_CHARACTERS_MAX, TYPE_CHARACTERS_MAX } from '../../core/bounds.ts'
import { listOf, open, optional, strict } from '../../core/rules/compound.ts'
import type { ValueOf } from '../../core/rules/rules.ts'
import { name, oneOf, text } from '../../core/rules/scalars.ts'
import { count, pageOf, pageQuery } from '../scalars.ts'
import { task } from '../tasks.ts'

const SEARCH_CHARACTERS_MAX = TYPE_CHARACTERS_MAX + 1 + KEY_CHARACTERS_MAX

export const searchQuery = strict({
  /** The text: an id, a key, a user, a tag as `name:value` or by its value, or a part of an error in upper or lower case. */
  q: name(SEARCH_CHARACTERS_MAX),
  ...pageQuery.shape,
})

export type SearchQuery = ValueOf<typeof searchQuery>

export const searchAnswer = open(
  {
    ...pageOf(task).shape,
    /** How each of the items was found, in their order. */
    matches: listOf(oneOf('id', 'key', 'user', 'tag', 'error')),
    /** How many tasks this page has read, whether they fit or not. */
    examined: count,
    /** The type whose tasks the next page reads, when it searches tags and errors. */
    reached: optional(text()),
  },
  'SearchPage',
)

/** One page of found tasks. */
export type SearchAnswer = ValueOf<typeof searchAnswer>
