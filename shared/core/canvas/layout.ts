import type { Json } from '../values/values.ts'
import { growTree, type Shape, type Tree } from './tree.ts'

/** The part of a canvas that is stored besides its head and its tasks' publish bodies. It never changes. */
export type Layout = {
  readonly tree: Tree
  /** The type of each leaf's task. */
  readonly types: readonly string[]
  /** The first leaf of each page of publish bodies. */
  readonly pages: readonly number[]
}

type Stored = {
  readonly shape: Shape
  readonly names: readonly string[]
  /**
   * The type of each leaf, as letters that number a name, with a count of equal leaves in a row: `a3b` is three leaves of the first
   * name, then one of the second.
   */
  readonly types: string
  readonly pages: readonly number[]
}

export function storedLayout(shape: Shape, types: readonly string[], pages: readonly number[]): Json {
  const names = [...new Set(types)]
  const width = widthOf(names)
  const codes = new Map(names.map((name, number) => [name, lettersOf(number, width)]))
  const repeats: Array<{ code: string; count: number }> = []
  for (const type of types) {
    const code = codes.get(type) ?? ''
    const last = repeats.at(-1)
    if (last?.code === code) last.count += 1
    else repeats.push({ code, count: 1 })
  }
  const text = repeats.map(({ code, count }) => (count === 1 ? code : `${code}${count}`)).join('')
  const stored: Stored = { shape, names, types: text, pages }
  return stored as unknown as Json
}

export function layoutFrom(json: Json): Layout {
  const { shape, names, types: text, pages } = json as unknown as Stored
  const width = widthOf(names)
  const repeat = new RegExp(`([a-z]{${width}})(\\d*)`, 'g')
  const types = [...text.matchAll(repeat)].flatMap(([, code = '', count]) =>
    new Array<string>(Number(count || 1)).fill(names[numberOf(code)] ?? ''),
  )
  return { tree: growTree(shape), types, pages }
}

const LETTERS = 26
const FIRST_LETTER = 'a'.charCodeAt(0)

/** How many letters are needed to number all names. */
function widthOf(names: readonly string[]): number {
  let width = 1
  while (LETTERS ** width < names.length) width += 1
  return width
}

function lettersOf(number: number, width: number): string {
  let text = ''
  for (let rest = number; text.length < width; rest = Math.floor(rest / LETTERS)) {
    text = String.fromCharCode(FIRST_LETTER + (rest % LETTERS)) + text
  }
  return text
}

function numberOf(letters: string): number {
  return [...letters].reduce((sum, letter) => sum * LETTERS + letter.charCodeAt(0) - FIRST_LETTER, 0)
}

export function pageOf({ pages }: Layout, leaf: number): number {
  const after = pages.findIndex(first => first > leaf)
  return after < 0 ? pages.length - 1 : after - 1
}

/** How many leaves have their ends stored in one item. Adding an end costs one write unit, even when the item is nearly full. */
export const CHUNK_LEAVES = 200

export function chunkOf(leaf: number): number {
  return Math.floor(leaf / CHUNK_LEAVES)
}

/** The numbers of the chunks that hold the leaves from `from` up to, but without, `to`. */
export function chunksOf({ from, to }: { readonly from: number; readonly to: number }): number[] {
  const first = chunkOf(from)
  return Array.from({ length: chunkOf(Math.max(from, to - 1)) - first + 1 }, (_, index) => first + index)
}
