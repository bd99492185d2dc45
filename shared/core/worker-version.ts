/** Whether a worker of version `version` may take a task that asks for at least `minimum` (dotted numbers: 1.4.0). */
export function versionSuffices(version: string | undefined, minimum: string | undefined): boolean {
  if (minimum === undefined) return true
  if (version === undefined) return false
  const [have, need] = [parts(version), parts(minimum)]
  for (let i = 0; i < Math.max(have.length, need.length); i++) {
    const difference = (have[i] ?? 0) - (need[i] ?? 0)
    if (difference !== 0) return difference > 0
  }
  return true
}

function parts(version: string): number[] {
  return version.split('.').map(Number)
}
