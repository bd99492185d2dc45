/**
 * Calls `end` once when no program reads the process's output any more, because the program that started the worker has died. Such an
 * error must not be logged: the line would fail as well, and the next one, until the memory is full.
 */
export function endWithTheLog(end: () => void): void {
  let isEnding = false
  const onError = () => {
    if (isEnding) return
    isEnding = true
    end()
  }
  process.stdout.on('error', onError)
  process.stderr.on('error', onError)
}
