import { readFile } from 'node:fs/promises'

let description: Promise<unknown> | undefined

/**
 * Returns the OpenAPI document. `npm run openapi` makes it from the routes and the schemas (`scripts/openapi`), and each bundle of the
 * API has it as a file beside itself. A process reads it once, when a caller first asks for it.
 */
export function readDescription(): Promise<unknown> {
  description ??= readFile(new URL('openapi.json', import.meta.url), 'utf8').then(JSON.parse)
  // A read that failed may succeed the next time.
  description.catch(() => {
    description = undefined
  })
  return description
}
