import { relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import type { Project } from './project.ts'

/** The last lines of an app's output are shown when no error can be recognised in it. */
const LINES_SHOWN_MAX = 20

/** Says why an app failed: file, line and message of its error if they can be recognised, else the end of what it printed. */
export function appProblem(
  text: string,
  project: Pick<Project, 'app' | 'folder'>,
  status: number | string,
): string {
  const lines = stripVTControlCharacters(text)
    .split('\n')
    .map(line => line.trimEnd())
    .filter(line => line !== '')
  return (
    dockerProblem(lines) ??
    errorWithPlace(lines, project.folder) ??
    [`the app (${project.app}) ended with status ${status}`, ...lines.slice(-LINES_SHOWN_MAX)].join('\n')
  )
}

/** CDK bundles an asset in a container if the app asks for it, and names the construct when it fails. */
function dockerProblem(lines: readonly string[]): string | undefined {
  const failed = lines.find(line => /Failed to bundle asset/.test(line) && /docker/i.test(line))
  const withoutDocker = lines.find(line => /spawnSync docker ENOENT/.test(line))
  const line = failed ?? (withoutDocker && lines.find(one => /Failed to bundle asset/.test(one)))
  if (line === undefined) return undefined
  const [, construct = 'an asset'] = /Failed to bundle asset ([^\s,]+)/.exec(line) ?? []
  return `${construct} is bundled in a container, and Docker does not work here: start Docker, or give its bundling a 'local' way`
}

/** Errors as Node prints them: `TypeError: message`, also `BatonError [invalid]: …` or `Error [ERR_…]: …`. */
const ERROR_LINE = /^(?:Uncaught )?((?:\w+)?(?:Error|Exception))(?: \[[^\]]+\])?: (.+)$/

function errorWithPlace(lines: readonly string[], folder: string): string | undefined {
  const at = lines.findIndex(line => ERROR_LINE.test(line))
  const [, name = '', message = ''] = ERROR_LINE.exec(lines[at] ?? '') ?? []
  if (name === '') return undefined
  const whole = [message, ...furtherLines(lines.slice(at + 1))].join('\n')
  const place = placeIn(lines, folder)
  // The messages of Baton's own errors name files themselves.
  const text = name === 'BatonError' ? whole : `${name}: ${whole}`
  return place === undefined || text.startsWith(place.split(':')[0] ?? '') ? text : `${place}: ${text}`
}

/** The lines of a message that go on before the stack trace begins. */
function furtherLines(lines: readonly string[]): string[] {
  const end = lines.findIndex(line => /^\s+at |^\s*[{}]$|^Node\.js v/.test(line))
  return lines.slice(0, end < 0 ? 0 : end)
}

/** The first place in a stack trace, or above the source line that Node shows, that lies in the project. */
function placeIn(lines: readonly string[], folder: string): string | undefined {
  for (const line of lines) {
    const [, file, position] =
      /(?:^\s+at .*?\(?|^)((?:file:\/\/)?\/[^():]+):(\d+(?::\d+)?)\)?$/.exec(line) ?? []
    if (file === undefined) continue
    const path = relative(folder, file.startsWith('file:') ? fileURLToPath(file) : file)
    const isOwn = !path.startsWith('..') && !path.split(sep).includes('node_modules')
    if (isOwn) return `${path}:${position}`
  }
  return undefined
}
