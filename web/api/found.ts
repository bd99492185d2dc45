import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { baton } from './baton.ts'

/** What a text finds: by id, key, user, tag and error. */

const PAGE_TASKS = 50
/** At most so many pages are read while nothing is found. Each reads up to some 2,000 tasks. */
const EMPTY_PAGES_MAX = 5

/** All that is found. A reader asks for further pages, because they read the tasks of one type after the other. */
export const searchQuery = (q: string) =>
  infiniteQueryOptions({
    queryKey: ['search', q],
    queryFn: async ({ pageParam, signal }) => {
      let cursor = pageParam
      let examined = 0
      for (let nth = 1; ; nth++) {
        const from = cursor === undefined ? {} : { cursor }
        const page = await baton.searchPage({ q, limit: PAGE_TASKS, ...from }, { signal })
        examined += page.examined
        cursor = page.nextCursor
        const isEmpty = page.items.length === 0 && cursor !== undefined
        if (!isEmpty || nth === EMPTY_PAGES_MAX) return { ...page, examined }
      }
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  })

const FOUND_MAX = 8
/** Shorter texts find nothing while a reader writes. */
export const FOUND_CHARACTERS_MIN = 2

/** The first tasks that are found while a reader writes. */
export const foundQuery = (q: string) =>
  queryOptions({
    queryKey: ['found', q],
    queryFn: ({ signal }) => baton.searchPage({ q, limit: FOUND_MAX }, { signal }),
    enabled: q.length >= FOUND_CHARACTERS_MIN,
  })
