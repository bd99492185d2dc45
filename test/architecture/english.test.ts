import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { halfNames, translatedPhrases, unfinishedComments, wordsForPeople } from './english.ts'
import { isIgnored, root } from './sources.ts'

/** Holds comments and pages against the house style's English: a process is named, and each doc comment stands alone. */

const texts = new Map(
  globSync(['**/*.{ts,tsx,mjs}', 'docs/**/*.md', 'CONTRIBUTING.md', 'README.md'], {
    cwd: root,
    exclude: path => isIgnored(path),
  })
    .filter(file => !file.startsWith('test/architecture/english'))
    .sort()
    .map(file => [file, readFileSync(resolve(root, file), 'utf8')] as const),
)

/** Files that speak of people, and how often. */
const PEOPLE: Readonly<Record<string, number>> = {
  'docs/decisions/011-steps-are-resolved-at-publish.md': 1,
  'docs/decisions/037-a-failed-run-keeps-its-log-in-its-record.md': 1,
  'docs/http.md': 2,
}

/** Words for people that still stand for processes, per top folder: these numbers only shrink. */
const UNMENDED: Readonly<Record<string, number>> = {}

/** Doc comments that are not finished yet, per top folder: these numbers only shrink. */
const UNFINISHED: Readonly<Record<string, number>> = {}

/** Translated turns of phrase that are not mended yet, per top folder: these numbers only shrink. */
const UNPLAIN: Readonly<Record<string, number>> = { test: 71 }

/** Names that are neither nouns nor verbs, per top folder: these numbers only shrink. */
const HALF_NAMED: Readonly<Record<string, number>> = { test: 43 }

it('a process is called by its name, and words for people stand for people', () => {
  const found = [...texts].map(([file, text]) => [file, wordsForPeople(file, text)] as const)
  const excess = found.filter(([file, words]) => words.length > (PEOPLE[file] ?? 0))

  expect(texts.size).toBeGreaterThan(800)
  expect(beyond(UNMENDED, excess)).toEqual([])
  expect(Object.entries(PEOPLE).filter(([file, count]) => countOf(found, file) < count)).toEqual([])
})

it('no doc comment ends in a comma or a conjunction', () => {
  const found = [...texts].map(([file, text]) => [file, unfinishedComments(text)] as const)

  expect(beyond(UNFINISHED, found)).toEqual([])
})

it('no comment, text or page has a translated turn of phrase', () => {
  const found = [...texts].map(([file, text]) => [file, translatedPhrases(file, text)] as const)

  expect(beyond(UNPLAIN, found)).toEqual([])
})

it('names are nouns and verbs', () => {
  const found = [...texts].map(([file, text]) => [file, file.endsWith('.md') ? [] : halfNames(text)] as const)

  expect(beyond(HALF_NAMED, found)).toEqual([])
})

describe('the rules of English', () => {
  it('refuse each word for people in a comment or on a page', () => {
    const code = `
      /** Whoever claims it, tells who he is. */
      const who = 'nobody' // and somebody's
      /* What \`who\` means, and the who-list, is another matter. */`

    expect(wordsForPeople('a.ts', code)).toEqual(['whoever', 'who', 'he', 'somebody'])
    expect(wordsForPeople('a.md', 'Nobody.\n```\nwho\n```\nHis.')).toEqual(['nobody', 'his'])
  })

  it('refuse a doc comment that goes on elsewhere, and no other comment', () => {
    const code = `
      /** For a worker that is idle, */
      const a = '/** and */'
      /**
       * Ends here, or
       */
      // and so on,
      /** A whole sentence. */`

    expect(unfinishedComments(code)).toEqual(['For a worker that is idle,', 'Ends here, or'])
  })

  it('refuse translated turns of phrase in comments and texts, and in no name or address', () => {
    const code = `
      /** It stands in the table, beside that of the task. There is no other, and # stands for it. */
      const stands = 'goes-on.md' + 'Nothing need be done.'
      const message = \`\${path} is no report\``

    expect(translatedPhrases('a.ts', code)).toEqual([
      ...['stands', 'that of', 'is no report'],
      ...['beside', 'need be'],
    ])
    expect(translatedPhrases('a.md', '[It goes on](that-goes-on.md), `tell` \n```\ntold\n```')).toEqual([
      'goes on',
    ])
  })

  it('refuse names that are neither a noun nor a verb', () => {
    expect(halfNames('type Told = 1\nconst isThere = there\nfunction giveWay() {}')).toEqual([
      ...['Told', 'isThere', 'giveWay'],
    ])
    expect(halfNames('const holders = told()\ntype Pathway = 1')).toEqual([])
  })
})

type Found = readonly (readonly [file: string, problems: readonly string[]])[]

/** The problems of each top folder that has more of them than the list allows. */
function beyond(allowed: Readonly<Record<string, number>>, found: Found): string[] {
  const byFolder = Map.groupBy(found, ([file]) => file.split('/', 1)[0] ?? file)
  return [...byFolder].flatMap(([folder, files]) => {
    const count = files.reduce((sum, [, problems]) => sum + problems.length, 0)
    if (count <= (allowed[folder] ?? 0)) return []
    const where = files.filter(([, problems]) => problems.length > 0)
    return [`${folder}: ${count}`, ...where.map(([file, problems]) => `  ${file}: ${problems.join(', ')}`)]
  })
}

function countOf(found: Found, file: string): number {
  return found.find(([path]) => path === file)?.[1].length ?? 0
}
