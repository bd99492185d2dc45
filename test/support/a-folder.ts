import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export type Content = string | Buffer | object

/** Makes a folder with these files, which ends with the test run. Returns its path, without links. An object is written as JSON. */
export function aFolder(files: Readonly<Record<string, Content>> = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'folder-')))
  writeFiles(folder, files)
  return folder
}

/** Writes files to a folder, and makes the folders in between. */
export function writeFiles(folder: string, files: Readonly<Record<string, Content>>): void {
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    const isText = typeof content === 'string' || Buffer.isBuffer(content)
    writeFileSync(file, isText ? content : JSON.stringify(content))
  }
}
