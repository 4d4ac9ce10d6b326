const env = { ...process.env };

export async function orders() {
  const answer = await fetch(`${env.ACME_URL}/orders`, {
    headers: { Authorization: `Bearer ${env.ACME_API_KEY}` },
  });
  return answer.json();
}
