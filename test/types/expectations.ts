import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { root } from '../architecture/sources.ts'

/**
 * Compiles the project in `project/` as a user does. In its files a comment `// expect-error: text` says that the next line has exactly
 * one error, whose first line has this text. All other lines have none.
 */

/** The compilers that users have, by the names of their packages here. */
const COMPILERS = { 5: 'typescript-5', 7: 'typescript' } as const

export type Version = keyof typeof COMPILERS

export type CompilerError = {
  readonly file: string
  readonly line: number
  /** The first line of the message. */
  readonly message: string
}

type Expectation = CompilerError & { readonly code: string }

/** The errors of the project in a folder. */
export function errorsIn(folder: string, version: Version): CompilerError[] {
  const compiler = resolve(root, 'node_modules', COMPILERS[version], 'bin/tsc')
  const { stdout } = spawnSync(process.execPath, [compiler, '--project', folder, '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
  })
  return stdout.split('\n').flatMap(text => {
    if (text === '' || text.startsWith(' ')) return []
    const [, file, line, message] = /^(.*?)\((\d+),\d+\): error (TS\d+: .*)$/.exec(text) ?? []
    if (file === undefined || message === undefined) throw new Error(`the compiler says: ${text}`)
    return [{ file, line: Number(line), message }]
  })
}

/** The errors that the comments of the project's files announce. */
export function expectationsIn(folder: string): Expectation[] {
  return globSync('*.ts', { cwd: folder })
    .sort()
    .flatMap(file => {
      const lines = readFileSync(join(folder, file), 'utf8').split('\n')
      return lines.flatMap((line, index) => {
        const message = /^\s*\/\/ expect-error: (.*)$/.exec(line)?.[1]
        return message === undefined
          ? []
          : [{ file, line: index + 2, message, code: (lines[index + 1] ?? '').trim() }]
      })
    })
}

/** Where errors and expectations differ, as sentences. Empty when each expected error is the only one of its line. */
export function differences(errors: readonly CompilerError[], expected: readonly Expectation[]): string[] {
  const at = ({ file, line }: CompilerError) => `${file}:${line}`
  const unexpected = errors.filter(error => !expected.some(one => at(one) === at(error)))
  return [
    ...unexpected.map(error => `${at(error)} has an error: ${error.message}`),
    ...expected.flatMap(one => {
      const found = errors.filter(error => at(error) === at(one))
      const isMet = found.length === 1 && found[0]?.message.includes(one.message)
      const said = found.map(({ message }) => message).join(' AND ') || 'nothing'
      return isMet ? [] : [`${at(one)} should say '${one.message}', not: ${said}`]
    }),
  ]
}
