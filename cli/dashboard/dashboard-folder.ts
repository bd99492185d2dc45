import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { BatonError } from '../../shared/core/errors.ts'

/** Where the built dashboard is: a folder of this package, or what the build of a checkout has left. */
const PLACES = ['../../dashboard/', '../../dist/dashboard/']

/**
 * Returns the folder of the built dashboard.
 *
 * @throws BatonError `misconfigured` in a checkout of the repository that has not built it
 */
export function dashboardFolder(): string {
  const folders = PLACES.map(place => fileURLToPath(new URL(place, import.meta.url)))
  const built = folders.find(folder => existsSync(`${folder}index.html`))
  if (built !== undefined) return built
  throw new BatonError('misconfigured', 'the dashboard is not built: npm start builds it in a checkout')
}
