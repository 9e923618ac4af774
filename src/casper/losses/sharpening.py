"""One target out of the answers to several views."""

from torch import Tensor


def sharpened_mean(answers: Tensor, num_views: int, temperature: float = 0.5) -> Tensor:
    """Average an item's answers over its views, and make the average more certain: q_c = m_c^(1/T) / Σ_j m_j^(1/T).

    Berthelot et al., "MixMatch: A Holistic Approach to Semi-Supervised Learning" (NeurIPS 2019), whose temperature is
    the default.

    Args:
        answers: Probabilities of shape (num_views * n, N): all items in one view, then all in the next.
        num_views: The number of views of each item.
        temperature: The T; the lower, the more certain.

    Returns:
        Tensor of shape (n, N).
    """
    mean = answers.view(num_views, len(answers) // num_views, -1).mean(dim=0)
    powers = mean.pow(1 / temperature)
    return powers / powers.sum(dim=1, keepdim=True)
