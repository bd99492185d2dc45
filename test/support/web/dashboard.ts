import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildDashboard } from '../../../scripts/build/dashboard.ts'
import { type LocalSystem, startLocalSystem } from '../local-system/local-system.ts'

/** Boots the system under test with the dashboard, built from its sources. */
export async function startSystemWithDashboard(): Promise<LocalSystem> {
  const dashboardDir = mkdtempSync(join(tmpdir(), 'dashboard-'))
  await buildDashboard(dashboardDir)
  return startLocalSystem({ dashboardDir })
}
