import type { ApiCanvas } from '../../shared/api/canvases.ts'
import { chain, chord } from '../../shared/define/canvases.ts'
import type { DemoCanvas } from './demo-task.ts'
import { wordsOf } from './http-worker.ts'
import { blocks, countByPattern, digestOf, range } from './pieces.ts'

/** The sizes of a chapter and of a block. A text is counted chapter by chapter, and a chapter block by block. */
const [CHAPTER_CHARACTERS, BLOCK_CHARACTERS] = [20_000, 4_000]
const CHAINS = 4

/** Makes chords that count each text, and chains that digest a count. */
export function canvases(texts: ReadonlyMap<string, string>, pieces: readonly string[]): DemoCanvas[] {
  return [
    ...[...texts].flatMap(([name, text]) =>
      blocks(text, CHAPTER_CHARACTERS).map((chapter, index) => chordOf(`${name}-${index}`, chapter)),
    ),
    ...range(CHAINS).map(index => chainOf(index, pieces[(index * 11) % pieces.length] ?? '')),
  ]
}

function chordOf(key: string, chapter: string): DemoCanvas {
  const members = blocks(chapter, BLOCK_CHARACTERS).map(text => ({ type: 'word-count', input: { text } }))
  return {
    group: 'chords',
    key: `chord-${key}`,
    canvas: chord(members, { type: 'merge-counts' }),
    tasks: members.length + 1,
    problem: ({ result }) => {
      const { words, lines } = (result ?? {}) as { words?: number; lines?: number }
      const right = countByPattern(chapter)
      if (words === right.words && lines === right.lines) return undefined
      return `it adds up to ${words} words in ${lines} lines instead of ${wordsOf(right)}`
    },
  }
}

function chainOf(index: number, text: string): DemoCanvas {
  const digest = digestOf(wordsOf(countByPattern(text)))
  return {
    group: 'chains',
    key: `chain-${index}`,
    canvas: chain([{ type: 'word-count', input: { text } }, { type: 'digest' }]),
    tasks: 2,
    problem: ({ result }: ApiCanvas) =>
      result === digest ? undefined : 'its digest belongs to another count',
  }
}
