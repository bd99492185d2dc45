import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const FOLDER = join(tmpdir(), 'baton-tarballs')
const [DONE, FAILED] = [join(FOLDER, 'done'), join(FOLDER, 'failed')]
const LOOK_EVERY_MS = 100

/** The packages as users install them: the path of each tarball by the package's name. They are built once per test run. */
export async function tarballs(): Promise<Readonly<Record<string, string>>> {
  if (isFirst()) build()
  while (!existsSync(DONE)) {
    if (existsSync(FAILED)) throw new Error('the packages could not be built; another test file says why')
    await sleep(LOOK_EVERY_MS)
  }
  const files = readdirSync(FOLDER).filter(file => file.endsWith('.tgz'))
  return Object.fromEntries(files.map(file => [file.replace(/-\d.*$/, ''), join(FOLDER, file)]))
}

/** All test processes of a run share the folder for temporary files. The first one that makes this folder builds. */
function isFirst(): boolean {
  try {
    mkdirSync(FOLDER)
    return true
  } catch {
    return false
  }
}

function build(): void {
  try {
    execFileSync(process.execPath, ['scripts/build/build.ts', '--tarballs', FOLDER], { stdio: 'inherit' })
  } catch (cause) {
    writeFileSync(FAILED, '')
    throw cause
  }
  writeFileSync(DONE, '')
}
