/** Kills this process and everything it started, at once. The process leads a process group of its own. */
export function endOwnGroup(): void {
  try {
    process.kill(-process.pid, 'SIGKILL')
  } catch {
    // Windows has no process groups.
    process.kill(process.pid, 'SIGKILL')
  }
}
