/**
 * The folder of `--data`. Each stack has a folder in it, named after the stack. So a stack finds its data whatever other stacks the
 * app has, and in whatever order.
 */

import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { dataIn, holdsData } from '../../local/data-folder/data-folder.ts'
import { BatonError } from '../../shared/core/errors.ts'
import type { System } from './synthesis/systems.ts'
import { isWithin } from './watch/watch.ts'

type Named = Pick<System, 'stackName'>

/** The folder that keeps the data of a stack. */
export function dataFolderOf(data: string, { stackName }: Named): string {
  return join(data, stackName)
}

/**
 * Refuses a folder that would lose data or mix it with other files: one of an earlier version, which kept the first stack's data in
 * the folder itself, and one in which a stack's folder holds something else.
 *
 * @throws BatonError `misconfigured` that names the files, and what to do with them.
 */
export function refuseForeignData(data: string | undefined, systems: readonly Named[]): void {
  if (data === undefined) return
  const [first] = systems
  if (first && holdsData(data)) throw olderLayout(data, dataFolderOf(data, first))
  for (const system of systems) {
    const folder = dataFolderOf(data, system)
    if (!holdsOtherFiles(folder)) continue
    throw new BatonError(
      'misconfigured',
      `--data ${data} would keep the data of ${system.stackName} in ${folder}, which holds other files; give another folder`,
    )
  }
}

function holdsOtherFiles(folder: string): boolean {
  return existsSync(folder) && !holdsData(folder) && readdirSync(folder).length > dataIn(folder).length
}

function olderLayout(data: string, folder: string): BatonError {
  const paths = dataIn(data)
    .map(name => join(data, name))
    .join(' ')
  return new BatonError(
    'misconfigured',
    `--data ${data} holds the data of an earlier version, which kept those of the first stack in the folder itself; move them once: mkdir -p ${folder} && mv ${paths} ${folder}/`,
  )
}

/**
 * Returns whether a folder is not watched because `--data` keeps state in it, which changes with each task. That is the whole folder
 * of `--data`, unless it also contains a watched folder, as `--data .` does. Then it is the folder of each stack.
 */
export function isDataFolder(
  data: string | undefined,
  from: string,
  watched: readonly string[],
): (folder: string) => boolean {
  if (data === undefined) return () => false
  const given = resolve(from, data)
  const root = existsSync(given) ? realpathSync(given) : given
  if (!watched.some(folder => isWithin(folder, root))) return folder => isWithin(folder, root)
  return folder => {
    const [name] = relative(root, folder).split(sep)
    return name !== undefined && name !== '' && name !== '..' && holdsData(join(root, name))
  }
}
