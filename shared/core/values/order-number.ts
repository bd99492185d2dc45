/** Digits of a number as text. Numbers from -10^15 to 10^15 fit; `orderNumber` replaces others by the nearer bound. */
const ORDER_DIGITS = 16
const ORDER_OFFSET = 10 ** 15

/** The number, rounded, as a text that sorts as the number does. */
export function orderNumber(value: number): string {
  const bounded = Math.min(Math.max(Math.round(value), -ORDER_OFFSET), ORDER_OFFSET)
  return String(bounded + ORDER_OFFSET).padStart(ORDER_DIGITS, '0')
}
