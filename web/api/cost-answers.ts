/** What the local system answers about costs. It is not a part of the API: `local/http/costs.ts` gives these answers. */

/** The metered cost since `from`, in USD at AWS list prices, in all, for each of the last minutes, and for each type. */
export type Cost = {
  readonly from: string
  readonly usd: number
  readonly minutes: ReadonlyArray<{ readonly at: string; readonly usd: number }>
  readonly types: ReadonlyArray<{
    readonly type: string
    readonly usd: number
    readonly lastHourUsd: number
  }>
}

/** The cost of a task in USD, and what it has used. Both are missing when the meter has forgotten the task. */
export type TaskCost = {
  readonly usd?: number
  readonly usage?: Readonly<
    Record<'writeUnits' | 'readUnits' | 'sqsRequests' | 'apiRequests' | 'invocations' | 'gbMs', number>
  >
}
