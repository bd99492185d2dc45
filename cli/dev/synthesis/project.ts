import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { BatonError } from '../../../shared/core/errors.ts'

/** A CDK app, as its `cdk.json` describes it. */
export type Project = {
  /** The folder of `cdk.json`. */
  readonly folder: string
  /** The command that runs the app. */
  readonly app: string
  /** The context of `cdk.json`, with what earlier look-ups have left in `cdk.context.json`. */
  readonly context: Readonly<Record<string, unknown>>
  /** The folder of generated files, which version control and the watcher leave out. */
  readonly generated: string
}

type CdkJson = { readonly app?: unknown; readonly context?: Readonly<Record<string, unknown>> }

/** @throws BatonError `invalid` when the folder has no `cdk.json`, or one that names no app. */
export function readProject(folder: string): Project {
  const file = join(folder, 'cdk.json')
  if (!existsSync(file)) {
    throw new BatonError(
      'invalid',
      `there is no cdk.json in ${folder}; run baton dev in the folder of a CDK app`,
    )
  }
  const { app, context } = readJson<CdkJson>(file)
  if (typeof app !== 'string' || app.trim() === '') {
    throw new BatonError('invalid', `"app" in ${file} must be the command that runs the CDK app`)
  }
  const lookedUp = readIfThere(join(folder, 'cdk.context.json'))
  const ofUser = readIfThere(join(homedir(), '.cdk.json')) as CdkJson
  return {
    folder,
    app,
    context: { ...ofUser.context, ...context, ...lookedUp },
    generated: join(folder, '.baton'),
  }
}

function readIfThere(file: string): Readonly<Record<string, unknown>> {
  return existsSync(file) ? readJson(file) : {}
}

function readJson<T>(file: string): T {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T
  } catch (cause) {
    throw new BatonError('invalid', `${file} is not JSON: ${(cause as Error).message}`, { cause })
  }
}
