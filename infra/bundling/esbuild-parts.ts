/** What every use of esbuild here shares: the synthesis, which bundles once, and `baton dev`, which bundles again and again. */

import { createRequire } from 'node:module'
import { join, relative, resolve } from 'node:path'
import type { Message, Metafile } from 'esbuild'

/** Returns the esbuild of the project in `folder`, or else the one beside the module `besides`; undefined when there is none. */
export function findEsbuild(folder: string, besides: string): typeof import('esbuild') | undefined {
  return loadFrom(join(folder, 'package.json')) ?? loadFrom(besides)
}

function loadFrom(place: string): typeof import('esbuild') | undefined {
  const require = createRequire(place)
  try {
    return require(require.resolve('esbuild')) as typeof import('esbuild')
  } catch (cause) {
    if ((cause as { code?: unknown }).code === 'MODULE_NOT_FOUND') return undefined
    throw cause
  }
}

/** Returns the absolute paths of a bundle's sources. Generated code and the parts that esbuild adds are not files. */
export function inputFiles({ inputs }: Metafile, folder: string): string[] {
  return Object.keys(inputs)
    .filter(path => !/^[\w-]{2,}:|^</.test(path))
    .map(path => resolve(folder, path))
}

/** What esbuild refuses, with file, line and column. Undefined when `cause` is no refusal of esbuild. */
export function refusalText(cause: unknown, folder: string): string | undefined {
  const { errors } = cause as { readonly errors?: readonly Message[] }
  return errors?.map(error => sentenceOf(error, folder)).join('; ')
}

function sentenceOf({ text, location }: Message, folder: string): string {
  if (!location) return text
  const file = relative(folder, resolve(folder, location.file))
  return `${file}:${location.line}:${location.column + 1}: ${text}`
}
