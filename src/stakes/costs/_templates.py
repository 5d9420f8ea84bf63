"""Prices to start from in four trades, each with its formula and the source of its figures."""

from stakes.costs._matrix import CostMatrix
from stakes.costs._named import ordinal_costs


def credit_costs(
    *,
    loan: float = 10_000.0,
    interest: float = 0.08,
    loss_given_default: float = 0.75,
    share: float = 0.5,
    share_of_loss: float = 0.3,
    guarantor: float = 100.0,
    recovered: float = 0.4,
) -> CostMatrix:
    r"""Return what lending, lending a part, asking for a guarantor and declining cost.

    Parameters
    ----------
    loan : float, default=10000
        What is asked for. Yours.
    interest : float, default=0.08
        What is earned on it until it is repaid. Yours.
    loss_given_default : float, default=0.75
        The share that is lost where it is not: 75%, as Correa Bahnsen, Aouada and Ottersten take it
        ("Example-Dependent Cost-Sensitive Logistic Regression for Credit Scoring", ICMLA 2014).
    share, share_of_loss : float, default=0.5 and 0.3
        The part that is lent by "lend a part", and its part of the loss: less than in proportion, as
        a smaller sum is easier to repay. In proportion it would never pay. Yours.
    guarantor : float, default=100
        What it costs to find and check one. Yours.
    recovered : float, default=0.4
        The share of a loss that a guarantor pays. Yours.

    Returns
    -------
    prices : CostMatrix
        ====== =================== =========================== ========================= ==============
        truth  lend                lend a part                 ask for a guarantor       decline
        ====== =================== =========================== ========================= ==============
        repaid 0                   (1 - share) interest loan   guarantor                 interest loan
        lost   loss loan           share_of_loss loss loan     guarantor +               0
                                                               (1 - recovered) loss loan
        ====== =================== =========================== ========================= ==============

    Examples
    --------
    >>> from stakes.costs import credit_costs
    >>> credit_costs(loan=1000, interest=0.1)
    CostMatrix
    true \ decided  lend  lend a part  ask for a guarantor  decline
    repaid             0           50                  100      100
    lost             750          225                  550        0
    """
    earned, lost = interest * loan, loss_given_default * loan
    values = [
        [0.0, (1.0 - share) * earned, guarantor, earned],
        [lost, share_of_loss * lost, guarantor + (1.0 - recovered) * lost, 0.0],
    ]
    named = ["lend", "lend a part", "ask for a guarantor", "decline"]
    return CostMatrix(values, ["repaid", "lost"], named)


def fraud_costs(
    *,
    amount: float = 100.0,
    code: float = 0.5,
    caught: float = 0.7,
    review: float = 2.5,
    lost_sale: float = 15.0,
) -> CostMatrix:
    """Return what approving a payment, asking for a code, reviewing and blocking it cost.

    Parameters
    ----------
    amount : float, default=100
        The payment. Yours.
    code : float, default=0.5
        What the question costs: the message, and those who give up. Yours.
    caught : float, default=0.7
        The share of frauds that stop at the question. Yours.
    review : float, default=2.5
        What a look at one payment costs: 2.5 euros, as Correa Bahnsen, Aouada, Stojanovic and
        Ottersten take it ("Feature Engineering Strategies for Credit Card Fraud Detection", Expert
        Systems with Applications 51, 2016).
    lost_sale : float, default=15
        What blocking an honest payment loses. Yours.

    Returns
    -------
    prices : CostMatrix
        ======= ======= ======================== ======= =========
        truth   approve ask for a code           review  block
        ======= ======= ======================== ======= =========
        honest  0       code                     review  lost_sale
        fraud   amount  code + (1 - caught)      review  0
                        amount
        ======= ======= ======================== ======= =========

    Examples
    --------
    >>> from stakes.costs import fraud_costs
    >>> fraud_costs(amount=200, caught=0.75).cost(true="fraud", decided="ask for a code")
    50.5
    """
    values = [
        [0.0, code, review, lost_sale],
        [amount, code + (1.0 - caught) * amount, review, 0.0],
    ]
    named = ["approve", "ask for a code", "review", "block"]
    return CostMatrix(values, ["honest", "fraud"], named)


def churn_costs(
    *,
    worth: float = 200.0,
    offer: float = 10.0,
    contact: float = 1.0,
    accepted: float = 0.3,
    reminded: float = 0.1,
) -> CostMatrix:
    """Return what leaving a customer alone, writing to him and making an offer cost.

    Parameters
    ----------
    worth, offer, contact, accepted : float, default=200, 10, 1 and 0.3
        What a customer is worth, what an offer and a contact cost, and the share of those about to
        leave who stay for an offer: the figures of Verbraken, Verbeke and Baesens ("A Novel Profit
        Maximizing Metric for Measuring Classification Performance of Customer Churn Prediction
        Models", IEEE TKDE 25, 2013), 0.3 being the mean of their Beta(6, 14).
    reminded : float, default=0.1
        The share that stays for a letter without an offer. Yours.

    Returns
    -------
    prices : CostMatrix
        ======= ======= =============================== ====================================
        truth   nothing letter                          offer
        ======= ======= =============================== ====================================
        stays   0       contact                         contact + offer
        leaves  worth   contact + (1 - reminded) worth  contact + accepted offer +
                                                        (1 - accepted) worth
        ======= ======= =============================== ====================================

    Examples
    --------
    >>> from stakes.costs import churn_costs
    >>> churn_costs().cost(true="leaves", decided="offer")
    144.0
    """
    values = [
        [0.0, contact, contact + offer],
        [
            worth,
            contact + (1.0 - reminded) * worth,
            contact + accepted * offer + (1.0 - accepted) * worth,
        ],
    ]
    return CostMatrix(values, ["stays", "leaves"], ["nothing", "letter", "offer"])


def triage_costs(*, over: float = 1.0, under: float = 5.0, power: float = 1.0) -> CostMatrix:
    """Return what sending a patient home, letting him wait and treating him at once cost.

    Parameters
    ----------
    over, under : float, default=1 and 5
        What it costs to take a patient for one level more or less urgent than he is. The American
        College of Surgeons accepts up to 5% of undertriage and 25% to 35% of overtriage
        ("Resources for Optimal Care of the Injured Patient"): one of the former is as bad as five
        to seven of the latter.
    power : float, default=1
        How much worse two levels are than one: twice at 1, four times at 2.

    Returns
    -------
    prices : CostMatrix
        As `CostMatrix.ordinal`, from "minor" to "immediate".

    Examples
    --------
    >>> from stakes.costs import triage_costs
    >>> triage_costs().cost(true="immediate", decided="send home")
    10.0
    """
    values = ordinal_costs(3, power, over, under)
    return CostMatrix(values, ["minor", "urgent", "immediate"], ["send home", "wait", "treat"])


def maintenance_costs(
    *,
    check: float = 10.0,
    breakdown: float = 500.0,
    repair: float = 100.0,
    exchange: float = 80.0,
) -> CostMatrix:
    """Return what running a machine on, checking it and exchanging the part cost.

    Parameters
    ----------
    check, breakdown : float, default=10 and 500
        What a mechanic's check costs, and a part that fails on the road: the figures of Scania's
        "Industrial Challenge" at IDA 2016 (air pressure system of trucks), whose checks cost 10 for
        nothing and whose misses cost 500.
    repair, exchange : float, default=100 and 80
        What mending at once costs where a check finds the fault, and a new part at the next
        planned stop, without a check. Yours.

    Returns
    -------
    prices : CostMatrix
        ======= ========= ============== ========
        truth   run       check          exchange
        ======= ========= ============== ========
        sound   0         check          exchange
        failing breakdown check + repair exchange
        ======= ========= ============== ========

    Examples
    --------
    >>> from stakes.costs import maintenance_costs
    >>> maintenance_costs().cost(true="failing", decided="check")
    110.0
    """
    values = [[0.0, check, exchange], [breakdown, check + repair, exchange]]
    return CostMatrix(values, ["sound", "failing"], ["run", "check", "exchange"])
