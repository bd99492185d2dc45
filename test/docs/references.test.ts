import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...globSync('docs/**/*.md', { cwd: root })]

/** A path of the repository in backticks. Generated files may not exist yet. */
const PATH = /`((?:shared|functions|infra|local|scripts|test|examples|docs)(?:\/[\w.-]+)+\/?)`/g
const LINK = /\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g

it.each(pages)('%s names and links only what is there', page => {
  const text = readFileSync(resolve(root, page), 'utf8')
  const named = [...text.matchAll(PATH)].map(([, path = '']) => resolve(root, path))
  const linked = [...text.matchAll(LINK)].map(([, path = '']) => resolve(root, dirname(page), path))

  expect([...named, ...linked].filter(path => !existsSync(path))).toEqual([])
})

/** Questions that a maintainer asks first, each with the place that answers it: a file, and words of the answer in it. */
const QUESTIONS = [
  ['may this worker claim this task?', 'shared/core/run/claim.ts', 'export function judgeClaim('],
  ['when is this task looked at next?', 'shared/core/wake.ts', 'export function plan('],
  ['how long does a retry wait?', 'shared/core/run/backoff.ts', 'export function retryDelayMs('],
  ['why does a chord start its callback only once?', 'shared/runtime/canvas/canvas.ts', 'exactly once'],
  ['how many units does a publish cost?', 'docs/data-model.md', 'costs exactly **6** write units'],
  ['what happens when a type is deleted?', 'shared/runtime/types/types.ts', 'function removeHandler('],
] as const

const START = 'docs/architecture.md'
const LINKS_MAX = 2

/** A path of the repository in backticks, or a link to a page. */
const READ_ON =
  /`((?:shared|functions|infra|docs)(?:\/[\w.-]+)+\.(?:ts|md))`|\]\((?!https?:)([^)#]+\.md)(?:#[^)]*)?\)/g

it.each(QUESTIONS)(
  'the answer to "%s" is at most two links from the architecture',
  (_question, file, words) => {
    expect(reachedIn(LINKS_MAX)).toContain(file)
    expect(readFileSync(resolve(root, file), 'utf8')).toContain(words)
  },
)

it('a file that no page names is not reached', () => {
  expect(reachedIn(LINKS_MAX)).not.toContain('shared/runtime/limits/begin-looks.ts')
  expect(reachedIn(0)).toEqual([START])
})

function reachedIn(links: number): string[] {
  const reached = new Set([START])
  let last: readonly string[] = [START]
  for (let nth = 0; nth < links; nth++) {
    last = last.flatMap(linksOf).filter(path => !reached.has(path))
    for (const path of last) reached.add(path)
  }
  return [...reached]
}

function linksOf(file: string): string[] {
  if (!file.endsWith('.md')) return []
  const text = readFileSync(resolve(root, file), 'utf8')
  return [...text.matchAll(READ_ON)].map(([, path, page]) =>
    path === undefined ? relative(root, resolve(root, dirname(file), page ?? '')) : path,
  )
}
