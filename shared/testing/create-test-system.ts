import { createDeployedSystem, type DeployedSettings } from './system/deployed-system.ts'
import { createMemorySystem } from './system/memory-system.ts'
import type { DeployedTestSystem, MemorySettings, TestSystem } from './system/test-system.ts'

/** Settings of which only the URL decides what they are for, such as `{ tasks, url }`. */
export type EitherSettings = Omit<MemorySettings, 'url'> &
  Omit<Partial<DeployedSettings>, 'url'> & { readonly url: string | undefined }

/**
 * Creates a system for tests. Without `url` it is in memory: the real core and runtime in virtual time. With `url` it is the
 * system that is deployed there, or that `baton dev` runs.
 *
 * ```ts
 * const t = await createTestSystem({ tasks: [resize], flows: [order] })
 * await t.publish(order, { sku: 'a', cents: 100 }, { key: '1' })
 * await t.advance('3d')
 * t.task('order:1').status
 * ```
 *
 * @throws BatonError `invalid` for wrong settings, which it names, and ProblemError for a wrong schedule.
 */
export function createTestSystem(settings: DeployedSettings): Promise<DeployedTestSystem>
export function createTestSystem(settings: MemorySettings): Promise<TestSystem>
export function createTestSystem(settings: EitherSettings): Promise<TestSystem | DeployedTestSystem>
export async function createTestSystem(
  settings: MemorySettings | DeployedSettings | EitherSettings,
): Promise<TestSystem | DeployedTestSystem> {
  const { url } = settings
  if (url !== undefined) return createDeployedSystem({ ...settings, url })
  return createMemorySystem(settings as MemorySettings)
}
