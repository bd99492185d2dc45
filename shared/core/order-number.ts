/** Digits of a number as text, enough for ± 10^15. A larger number is cut to the bound. */
const ORDER_DIGITS = 16
const ORDER_OFFSET = 10 ** 15

/** A number as text that compares as the number does. */
export function orderNumber(value: number): string {
  const bounded = Math.min(Math.max(Math.round(value), -ORDER_OFFSET), ORDER_OFFSET)
  return String(bounded + ORDER_OFFSET).padStart(ORDER_DIGITS, '0')
}
