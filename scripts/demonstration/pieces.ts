/**
 * What the demonstration is made of: the form of its tasks and canvases, the pieces into which it cuts texts, and the expected results,
 * which are computed without the system.
 */

import { createHash } from 'node:crypto'
import type { ApiCanvas } from '../../shared/api/canvases.ts'
import type { DerivedBody, PublishBody } from '../../shared/api/publish.ts'
import type { ApiTask } from '../../shared/api/tasks.ts'
import type { TypeBody } from '../../shared/api/types.ts'
import type { Canvas } from '../../shared/define/canvases.ts'

/** One task of the demonstration: its publication, and its expected end. */
export type DemoTask = {
  readonly group: string
  readonly publication: PublishBody & { readonly key: string }
  readonly expected: {
    readonly status: 'succeeded' | 'failed'
    readonly runs?: number
    /** The problem of the ended task; undefined if there is none. */
    problem?(task: ApiTask): string | undefined
  }
}

/** One canvas of the demonstration. All its members must succeed. */
export type DemoCanvas = {
  readonly group: string
  readonly key: string
  readonly canvas: Canvas
  readonly tasks: number
  readonly problem: (canvas: ApiCanvas) => string | undefined
}

/** The types that the demonstration registers, by name, in this order. */
export type Types = Readonly<Record<string, TypeBody>>

/** The number of tasks, including members of canvases and the callbacks that the expected ends publish. */
export function taskCountOf(demoTasks: readonly DemoTask[], canvases: readonly DemoCanvas[]): number {
  const members = canvases.reduce((sum, { tasks }) => sum + tasks, 0)
  const callbacks = demoTasks.reduce((sum, demoTask) => sum + callbacksOf(demoTask).length, 0)
  return demoTasks.length + members + callbacks
}

/** The callbacks that must be published after the task has ended as expected. */
export function callbacksOf({ publication, expected }: DemoTask): readonly DerivedBody[] {
  return (expected.status === 'succeeded' ? publication.onSuccess : publication.onError) ?? []
}

/** The paragraphs of all texts that are long enough to be worth a task. */
export function paragraphs(texts: ReadonlyMap<string, string>): string[] {
  return [...texts.values()]
    .flatMap(text => text.split(/\n\s*\n/))
    .filter(paragraph => paragraph.trim().length > 40)
}

/**
 * Cuts a text into blocks. A block ends at its first empty line after `characters` characters. Joined by line breaks, the blocks are
 * the text again, so their lines and words add up to the lines and words of the text.
 */
export function blocks(text: string, characters: number): string[] {
  const found: string[] = []
  let lines: string[] = []
  let length = 0
  for (const line of text.split('\n')) {
    lines.push(line)
    length += line.length + 1
    if (line.trim() !== '' || length < characters) continue
    found.push(lines.join('\n'))
    lines = []
    length = 0
  }
  return lines.length === 0 ? found : [...found, lines.join('\n')]
}

export type Count = { readonly words: number; readonly lines: number }

/**
 * A word: letters and digits in a row, and the marks that join them, by the rules of Unicode (UAX #29). The handler follows the
 * same rules with `Intl.Segmenter`. The pattern works for scripts with spaces between words.
 */
const WORD =
  /[\p{L}\p{N}\p{M}_]+(?:(?:(?<=\p{L})[.'’:·](?=\p{L})|(?<=\p{N})[.,;'](?=\p{N}))[\p{L}\p{N}\p{M}_]+)*/gu

/** Counts a text by another method than the `word-count` handler. */
export function countByPattern(text: string): Count {
  const words = text.match(WORD)?.filter(word => /[\p{L}\p{N}]/u.test(word)).length ?? 0
  return { words, lines: (text.match(/\n/g)?.length ?? 0) + 1 }
}

/** The digest that the HTTP worker computes. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function range(length: number): number[] {
  return Array.from({ length }, (_, index) => index)
}
